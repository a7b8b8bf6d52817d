"""The passive-aggressive algorithm PA-I."""

from margins.algorithms.pa import PassiveAggressiveClassifier
from margins.estimators.step import ABOUT_RADIUS, RADII
from margins.parameters import Interval, parameter
from margins.rules import PassiveAggressive


class PassiveAggressiveClassifierI(PassiveAggressiveClassifier):
    """PA-I: the passive-aggressive algorithm, but no update adds more than its aggressiveness.

    ``c = min(aggressiveness / R**2, loss / |y|**2)``: a mislabelled pattern can do only so much.

    In one pass over any sequence it predicts wrongly at most
    ``max(R**2, 1 / c_max) (|u|**2 + 2 c_max sum of u's losses)`` times, for any weight vector u, with
    ``c_max = aggressiveness / R**2``.

    **Source**: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1, Theorem 4.
    """

    aggressiveness: float = parameter(
        Interval(1e-60, 1e60),
        "The paper's C, in units of 1 / R**2: the most that one update adds. Not the `C` of the soft "
        "margin.",
        default=1.0,
    )
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    def _update(self, sqradius):
        return PassiveAggressive(most=self.aggressiveness / self._square(sqradius))
