"""Base class of algorithms with both soft margins, the squared hinge loss and the hinge loss."""

from typing import Literal

from margins.estimators.continuation import DualWarmStartMixin
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.parameters import OneOf, parameter


class SoftMarginClassifier(DualWarmStartMixin, MaximumMarginClassifier):
    """Maximum-margin classifier whose rules respect the upper bounds of the dual variables.

    See Also
    --------
    MaximumMarginClassifier : Without the hinge loss.
    margins.MarginClassifier : Solves the same problems with the fastest solver.

    Examples
    --------
    >>> import margins
    >>> issubclass(margins.get("mpu"), SoftMarginClassifier)
    True
    """

    loss: Literal["squared_hinge", "hinge"] = parameter(
        OneOf("squared_hinge", "hinge"),
        "'squared_hinge': the 2-norm soft margin, LinearSVC's default problem. "
        "'hinge': the L1-SVM. With C = inf, both mean the hard margin.",
        default="squared_hinge",
    )

    def specification(self, sqnorms, continues=False):
        return super().specification(sqnorms, continues)._replace(keep_dual=True)
