from margins.estimators.step import ABOUT_RADIUS, RADII, StepClassifier
from margins.parameters import Interval, parameter
from margins.rules import Additive, ConstantDecay, FixedThreshold, Rules


class Norma(StepClassifier):
    """NORMA: every sample shrinks the weight vector, and margin errors are added.

    ``a <- (1 - eta lam) a``, plus ``eta y`` if ``a.y <= rho`` before. This is stochastic gradient
    descent on ``lam / 2 |a|**2 + mean of max(0, rho - a.y)`` with steps of constant size: the weight of
    past samples decays with a half-life of about ``0.7 / (eta lam)`` samples, so the algorithm can
    follow a drifting target and does not converge. `converged_` stays False.

    The length of a never exceeds ``R / lam``. **Guarantee**: in one pass over any T samples the mean of
    ``lam / 2 |a|**2 + max(0, rho - a.y)`` exceeds the mean for any fixed weight vector u by at most
    ``|u|**2 / (2 eta T) + 2 eta R**2``.

    The bias is penalised like a weight, as everywhere in this package; in the paper it is not. Nothing
    is truncated: past samples are kept as one weight vector or, with a kernel, as dual variables that
    decay.

    **Use it for** forgetting old samples at a chosen rate. **Avoid it for** default settings: with a
    drifting target `pa` and `pa-i` make fewer errors.

    **Source**: Kivinen, Smola & Williamson (2004), section III.

    See Also
    --------
    Pegasos : Decreasing steps, which converge to the L1-SVM.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("norma")(max_iter=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    WEIGHTS_MULTIPLY = "relative updates"

    eta: float = parameter(
        Interval(1e-60, 1),
        "Learning rate, in units of 1 / R**2: factor of an added sample.",
        default=0.1,
    )
    lam: float = parameter(
        Interval(0, 1, "left"),
        "Regularisation, in units of R**2: every sample shrinks by 1 - eta lam.",
        default=1e-3,
    )
    rho: float = parameter(Interval(0, 1e60), "A sample with a.y <= rho is a margin error.", default=1.0)
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    def online_rules(self, sqradius):
        step, decay = self.eta / self._square(sqradius), self.eta * self.lam
        return Rules(FixedThreshold(self.rho), Additive(step, most=1), ConstantDecay(decay))
