"""`tol` and `n_iter_no_change`, as in scikit-learn, for algorithms that prove no accuracy."""

import math
from typing import ClassVar

from margins.estimators.declared import Declared
from margins.parameters import Interval, optional, parameter
from margins.solvers.specification import Patience


class PatienceMixin(Declared):
    """Fits that end when their loss no longer falls."""

    tol: float | None = parameter(
        optional(Interval(0, math.inf, "left")),
        "A problem ends after `n_iter_no_change` successive epochs whose loss is not below the smallest "
        "loss so far by at least `tol`; `converged_` is then True. The loss is the mean loss of the "
        "training samples after an epoch, which takes one more pass. Streams have no epochs. None: no "
        "loss is computed.",
        default=None,
    )
    n_iter_no_change: int = parameter(
        Interval(1, math.inf, "left", integer=True),
        "Number of epochs without progress that end a fit, if `tol` is set.",
        default=5,
    )

    # The loss of a sample is max(0, LOSS_MARGIN - l (score)).
    LOSS_MARGIN: ClassVar[float]

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        if self.tol is None:
            return specification
        patience = Patience(float(self.tol), self.n_iter_no_change, self.LOSS_MARGIN)
        return specification._replace(patience=patience)

    def why_not_in_partitions(self):
        if self.tol is not None:
            return "tol", "None", self.tol
        return super().why_not_in_partitions()
