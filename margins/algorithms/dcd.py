from margins.estimators.soft_margin import SoftMarginClassifier
from margins.parameters import BOOLEAN, parameter
from margins.solvers.base import Phase
from margins.solvers.dual_cd import dual_coordinate_descent


class DualCoordinateDescent(SoftMarginClassifier):
    """Dual coordinate descent: optimise one dual variable at a time.

    Every coordinate update solves the dual problem for one alpha with the others fixed, by
    ``alpha <- alpha + (1 - a.y) / N`` within its bounds. This is LIBLINEAR's algorithm for the problem
    of `LinearSVC`, but the fit ends when its accuracy is proven, not when the gradient is within a
    tolerance.

    **Use it for** comparisons with LIBLINEAR, update by update. **Avoid it for** the solution alone,
    which `MarginClassifier` finds sooner.

    **Source**: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), Algorithms 1 and 3; Fan, Chang, Hsieh,
    Wang & Lin (2008), LIBLINEAR.

    See Also
    --------
    KernelAdatron : A step size, and no shrinking.
    MarginClassifier : The same problems, with the fastest solver.
    """

    EXAMPLE = 'get("dcd")(loss="hinge", random_state=0)'

    shrinking: bool = parameter(
        BOOLEAN,
        "Skip, between two full passes, the samples whose dual variables are expected to stay at their "
        "bounds.",
        default=True,
    )

    def why_not_in_partitions(self):
        if self.shrinking:
            return "shrinking", "False", self.shrinking
        return super().why_not_in_partitions()

    def phases(self, run):
        run.rescale_to_feasible()  # after a warm start
        yield Phase(solver=dual_coordinate_descent(run, self.shrinking))
