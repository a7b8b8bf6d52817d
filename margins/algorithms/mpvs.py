import math

from margins.algorithms.margin_perceptron import ABOUT_RADIUS, RADII
from margins.algorithms.mpcs import shrinking_phase
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import NON_NEGATIVE, Interval, optional, parameter
from margins.rules import Additive, Rules, ShrunkThreshold, VariableShrink
from margins.solvers.schedules import EASY_EPOCHS, NESTED_SETS, SHALLOWER

MAX_N = 1000


class VariableShrinkingMarginPerceptron(OnlineMixin, MaximumMarginClassifier):
    """The margin perceptron with variable shrinking: shrink by a factor that tends to 1.

    Before update t + 1 the weight vector shrinks by ``(t / (t + 1))**n``, so that finally the sample of
    the t-th update has a weight proportional to ``t**n``. A solution has more than
    ``(2 n + 1) / (n + 1) * b / (R**2 + 2 b)`` of the maximum margin, which need not be known.

    Runs usually achieve much more than guaranteed, so n and b are small at first; whenever a full pass
    without updates does not prove eps, b is doubled, n (unless given) is increased by one, and the run
    continues.

    **Use it for** studies of decreasing shrinkage. **Avoid it for** speed: `mpu` is faster.

    **Source**: Panagiotakopoulos & Tsampouka (2012), Theorem 3.2, Remarks 5 and 8.

    See Also
    --------
    ConstantShrinkingMarginPerceptron : A constant shrinking factor.
    MarginPerceptron : No shrinking.
    """

    EXAMPLE = 'get("mpvs")(random_state=0)'

    n: int | None = parameter(
        optional(Interval(0, MAX_N, integer=True)),
        "Exponent of the shrinking factor; 0: the margin perceptron, which guarantees about half of the "
        "maximum margin. None: from eps, increased if necessary.",
        default=None,
    )
    b: float | None = parameter(
        optional(NON_NEGATIVE), "Initial threshold, in units of R**2. None: from eps.", default=None
    )
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    def phases(self, run):
        n, b = self._first_values(run.sqradius)
        yield shrinking_phase(b, VariableShrink(n), SHALLOWER, epochs=EASY_EPOCHS)
        while not run.reached_goal:
            yield shrinking_phase(b, VariableShrink(n), NESTED_SETS)
            # A sample misclassified with the old b also is with the new b: past updates stay valid.
            b = max(2 * b, run.sqradius)
            if self.n is None:
                n = min(n + 1, MAX_N)

    def _first_values(self, sqradius):
        """Return the initial n and b."""
        if self.radius is not None:
            sqradius = self.radius**2
        n = min(math.ceil(0.2 / math.sqrt(self.eps)), MAX_N) if self.n is None else self.n
        return n, (0.02 / self.eps if self.b is None else self.b) * sqradius

    def online_rules(self, sqradius):
        n, b = self._first_values(sqradius)
        shrink = VariableShrink(n)
        return Rules(ShrunkThreshold(b, shrink), Additive(most=1), shrink)
