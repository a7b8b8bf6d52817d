from margins.algorithms.pa import AggressiveClassifier
from margins.rules import PassiveAggressive


class PassiveAggressiveClassifierI(AggressiveClassifier):
    """PA-I: the passive-aggressive algorithm with a maximum step, its aggressiveness.

    ``c = min(aggressiveness / R**2, loss / |y|**2)``, which limits the effect of mislabelled samples.

    **Guarantee**: in one pass over any sequence it makes at most
    ``max(R**2, 1 / c_max) (|u|**2 + 2 c_max sum of u's losses)`` mistakes, for any weight vector u, with
    ``c_max = aggressiveness / R**2``.

    **Use it for** a drifting target with noisy labels. **Avoid it for** a fixed target, for which
    `averaged-perceptron` makes fewer errors.

    **Source**: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1, Theorem 4.

    See Also
    --------
    PassiveAggressiveClassifier : No maximum step.
    PassiveAggressiveClassifierII : Damped steps.
    """

    EXAMPLE = 'get("pa-i")(aggressiveness=0.5, random_state=0)'

    def update_rule(self, sqradius):
        return PassiveAggressive(most=self.aggressiveness / self._square(sqradius))
