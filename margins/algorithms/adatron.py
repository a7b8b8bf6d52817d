from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import Interval, optional, parameter
from margins.rules import CoordinateStep, NoShrink, Rules, UnitMargin
from margins.solvers.base import Phase


class KernelAdatron(SoftMarginClassifier):
    """The kernel adatron: gradient ascent in the dual problem, one dual variable at a time.

    ``alpha <- min(max(alpha + eta (1 - a.y), 0), C)``, which increases the dual objective for eta below
    2 / R**2. With eta=None the step is optimal for each sample, ``1 / N``: `dcd` without shrinking.

    **Use it for** comparisons with the kernel adatron. **Avoid it for** the solution alone, which
    `MarginClassifier` finds sooner.

    **Source**: Friess, Cristianini & Campbell (1998).

    See Also
    --------
    DualCoordinateDescent : The best step for each sample, and shrinking.
    UnlearningMarginPerceptron : Steps that are multiples of the samples.
    """

    EXAMPLE = 'get("adatron")(C=1, random_state=0)'

    eta: float | None = parameter(
        optional(Interval(0, 1e240, "neither")),
        "Step size, below 2 / R**2; R is the largest norm of a sample, including bias and slack term. "
        "None: 1 / N for a sample of squared norm N.",
        default=None,
    )

    def phases(self, run):
        if self.eta is not None and not self.eta * run.sqradius < 2:
            raise ValueError(
                f"eta of {self._display_name()} must be below 2 / R**2 = {2 / run.sqradius:g} for these "
                f"samples; otherwise steps may decrease the dual objective. Got {self.eta!r}."
            )
        run.rescale_to_feasible()  # after a warm start
        if run.loss.has_upper_bounds:
            run.bound_dual(run.loss.upper)
        step = CoordinateStep(0 if self.eta is None else self.eta)
        yield Phase(Rules(UnitMargin(), step, NoShrink()))
