from margins.algorithms.pa import AggressiveClassifier
from margins.rules import PassiveAggressive


class PassiveAggressiveClassifierII(AggressiveClassifier):
    """PA-II: the passive-aggressive algorithm with updates damped by its aggressiveness.

    ``c = loss / (|y|**2 + R**2 / (2 aggressiveness))``, the step of PA with a new slack term of that
    size each time a sample is processed. (With a finite `C` a sample always has the same slack term.)

    **Guarantee**: in one pass over any sequence the squared losses sum to at most
    ``(R**2 + 1 / (2 c)) (|u|**2 + 2 c sum of u's squared losses)``, for any weight vector u, with
    ``c = aggressiveness / R**2``.

    **Use it for** a drifting target with few wrong labels. **Avoid it for** a fixed target, for which
    `averaged-perceptron` makes fewer errors.

    **Source**: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1, Theorem 5.

    See Also
    --------
    PassiveAggressiveClassifier : Steps without damping.
    PassiveAggressiveClassifierI : A maximum step.
    """

    EXAMPLE = 'get("pa-ii")(aggressiveness=0.5, random_state=0)'

    def update_rule(self, sqradius):
        return PassiveAggressive(slack=self._square(sqradius) / 2 / self.aggressiveness)
