"""The passive-aggressive algorithm PA-II."""

from margins.algorithms.pa import PassiveAggressiveClassifier
from margins.estimators.step import ABOUT_RADIUS, RADII
from margins.parameters import Interval, parameter
from margins.rules import PassiveAggressive


class PassiveAggressiveClassifierII(PassiveAggressiveClassifier):
    """PA-II: the passive-aggressive algorithm with updates damped by its aggressiveness.

    ``c = loss / (|y|**2 + R**2 / (2 aggressiveness))``: what PA does to patterns that have one more
    coordinate, a new one at every presentation, of that squared size. (With a finite `C` every pattern
    has one that is the same at all its presentations.)

    In one pass over any sequence the squared losses sum to at most
    ``(R**2 + 1 / (2 c)) (|u|**2 + 2 c sum of u's squared losses)``, for any weight vector u, with
    ``c = aggressiveness / R**2``.

    **Source**: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1, Theorem 5.
    """

    aggressiveness: float = parameter(
        Interval(1e-60, 1e60),
        "The paper's C, in units of 1 / R**2: the larger, the more of a loss is taken away at once. Not "
        "the `C` of the soft margin.",
        default=1.0,
    )
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    def _update(self, sqradius):
        return PassiveAggressive(slack=self._square(sqradius) / 2 / self.aggressiveness)
