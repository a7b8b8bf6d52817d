"""Classifiers that offer both soft margins: of squared slacks, and of slacks."""

import math
from typing import Literal

from margins.certificate import Hinge
from margins.estimators.base import MaximumMarginClassifier
from margins.parameters import OneOf, parameter


class SoftMarginClassifier(MaximumMarginClassifier):
    """A maximum-margin classifier whose rules respect upper bounds of the dual variables."""

    loss: Literal["squared_hinge", "hinge"] = parameter(
        OneOf("squared_hinge", "hinge"),
        "'squared_hinge': the maximum margin in the extended space, LinearSVC's default problem. "
        "'hinge': the L1-SVM. With C = inf both are the hard margin.",
        default="squared_hinge",
    )

    _keeps_dual = True

    def _problem(self, C):
        if self.loss == "hinge" and not math.isinf(self.C):
            return Hinge(C)
        return super()._problem(C)
