"""The base of algorithms that prove an accuracy of the margin or of the objective."""

from margins.estimators.base import BaseMarginClassifier
from margins.parameters import Interval, OneOf, parameter


class MaximumMarginClassifier(BaseMarginClassifier):
    """A margin classifier that proves its accuracy."""

    eps: float = parameter(
        Interval(0, 1, "right"),
        "Accuracy to prove: margin >= (1 - eps) * maximum margin, of the soft margin if C < inf; "
        "for the hinge loss, relative duality gap <= eps.",
        default=0.01,
    )
    stop: str = parameter(
        OneOf("certificate", "clean-pass"),
        "When a fit ends: as soon as the certificate proves eps, or, as in the papers, only when, "
        "besides, a full epoch has changed nothing.",
        default="certificate",
    )

    @property
    def _accuracy(self):
        return self.eps
