import numpy as np

from margins.estimators.noise_tolerance import AveragingClassifier
from margins.parameters import Interval, optional, parameter


class UnevenMarginPerceptron(AveragingClassifier):
    """The perceptron with uneven margins: one margin for each label, for imbalanced classes.

    **Guarantee**: on separable data it ends, and class j has a margin of at least
    ``tau_j / (sqrt(8) (eta + max(tau_positive, tau_negative)))`` of the maximum. In one-vs-rest the
    samples of the class are positive.

    **Use it for** classes of uneven size. **Avoid it for** noisy labels in classes of similar size.

    **Source**: Li, Zaragoza, Herbrich, Shawe-Taylor & Kandola (2002).

    See Also
    --------
    PerceptronWithMargin : One margin for both labels.
    """

    EXAMPLE = 'get("paum")(tau_negative=0.5, random_state=0)'

    tau_positive: float = parameter(
        Interval(0, 1e60),
        "Margin of positive samples, in units of R**2, R the largest |x|; in a stream R is 1.",
        default=1.0,
    )
    tau_negative: float = parameter(
        Interval(0, 1e60), "Margin of negative samples, in units of R**2.", default=0.1
    )
    eta = 1.0
    intercept_scaling: float | None = parameter(
        optional(Interval(0, 1e60)),
        "Value of the intercept's feature: an update moves the threshold by its square. None: R.",
        default=None,
    )

    def units_of(self, sqnorms):
        units = {**super().units_of(sqnorms), "sqradius_": float(np.max(sqnorms))}
        if self.fit_intercept and self.intercept_scaling is None:
            units["sq_intercept_scaling_"] = units["sqradius_"]
        return units

    def thresholds(self, units):
        unit = units["sqradius_"] / self.eta
        return self.tau_negative * unit, self.tau_positive * unit
