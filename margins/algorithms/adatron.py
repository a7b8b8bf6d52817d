"""The kernel adatron."""

from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import Interval, optional, parameter
from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers.base import Phase


class KernelAdatron(SoftMarginClassifier):
    """The kernel adatron: a step up the slope of the dual problem, one dual variable at a time.

    ``alpha <- min(max(alpha + eta (1 - a.y), 0), C)``, which climbs as long as eta is below 2 / R**2.
    With eta None every pattern has the step ``1 / N`` that is best for it: `dcd` without shrinking.

    **Source**: Friess, Cristianini & Campbell (1998).
    """

    eta: float | None = parameter(
        optional(Interval(0, 1e240, "neither")),
        "Step of every pattern, below 2 / R**2, R the longest pattern, augmented and extended. None: "
        "1 / N for a pattern of squared norm N.",
        default=None,
    )

    def phases(self, run):
        if self.eta is not None and not self.eta * run.sqradius < 2:
            raise ValueError(
                f"eta of {type(self).__name__} must be below 2 / R**2 = {2 / run.sqradius:g} for these "
                f"patterns, or the steps need not lead uphill. Got {self.eta!r}."
            )
        if run.loss.has_upper_bounds:
            run.bound_dual(run.loss.upper)
        step = CoordinateStep(0 if self.eta is None else self.eta)
        yield Phase(Rules(UnitMargin(), step, NoShrink()))
