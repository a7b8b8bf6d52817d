from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.parameters import NON_NEGATIVE, Interval, optional, parameter
from margins.rules import Additive, ConstantShrink, Rules, ShrunkThreshold
from margins.solvers.base import Phase
from margins.solvers.schedules import EASY_EPOCHS, NESTED_SETS, SHALLOW


class ConstantShrinkingMarginPerceptron(MaximumMarginClassifier):
    """The margin perceptron with constant shrinking: shrink the weight vector at a constant rate.

    Every update first shrinks the weight vector by ``1 - lam``. With
    ``kappa = lam (R**2 + 2 b) / ((2 - lam) gamma**2) < 1``, gamma the maximum margin, it ends with more
    than ``(1 + kappa) * b / (R**2 + 2 b)`` of gamma: the larger kappa, the better, but above 1
    convergence is not guaranteed.

    Gamma need not be known: lam is chosen from a lower bound, the margin achieved by one full epoch
    without shrinking. Whenever a full pass without updates does not prove eps, b is doubled, and lam is
    chosen again from the margin achieved by then.

    **Use it for** studies of weight shrinking. **Avoid it for** a known number of updates.

    **Source**: Panagiotakopoulos & Tsampouka (2012), Theorem 3.1, Remarks 2 and 3.

    See Also
    --------
    VariableShrinkingMarginPerceptron : A shrinking factor that tends to 1.
    MarginPerceptron : No shrinking.
    """

    EXAMPLE = 'get("mpcs")(random_state=0)'

    kappa: float = parameter(
        Interval(0, 1, "left"),
        "Sets lam by the formula above, with the largest margin achieved so far instead of gamma.",
        default=0.999,
    )
    lam: float | None = parameter(
        optional(Interval(0, 1, "left")), "Shrinking rate. None: from `kappa`.", default=None
    )
    b: float | None = parameter(
        optional(NON_NEGATIVE),
        "Initial threshold, in units of R**2, R the largest norm of a sample. None: from eps.",
        default=None,
    )

    def phases(self, run):
        b = (0.1 / self.eps if self.b is None else self.b) * run.sqradius
        if self.lam is None:
            yield shrinking_phase(b, ConstantShrink(0.0), SHALLOW, epochs=1)
        yield shrinking_phase(b, self._shrink(b, run), SHALLOW, epochs=EASY_EPOCHS)
        while not run.reached_goal:
            yield shrinking_phase(b, self._shrink(b, run), NESTED_SETS)
            b = max(2 * b, run.sqradius)

    def _shrink(self, b, run):
        if self.lam is not None:
            return ConstantShrink(self.lam)
        run.certify()
        square = self.kappa * max(run.certificate.margin, 0.0) ** 2
        return ConstantShrink(2 * square / (run.sqradius + 2 * b + square))


def shrinking_phase(b, shrink, levels, epochs=None):
    """Return the phase of a margin perceptron with threshold b that shrinks before each update."""
    return Phase(Rules(ShrunkThreshold(b, shrink), Additive(), shrink), levels, epochs=epochs)
