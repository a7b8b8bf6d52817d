"""Servedio's average algorithm."""

import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import BOOLEAN, Interval, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.base import Phase


class ServedioAverage(OnlineMixin, BaseMarginClassifier):
    """Servedio's average algorithm: every pattern is added once, whatever the prediction.

    The weight vector is the sum of all patterns. One pass, nothing to choose, and under isotropic
    distributions, even with noise, it learns half-spaces.

    **Source**: Servedio (1999); Khardon & Wachman (2007), section 1.
    """

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Only what the certificate is about: see `perceptron`.",
        default=math.inf,
    )
    fit_intercept: bool = parameter(
        BOOLEAN,
        "Learn a bias, by one more feature of constant value; the algorithm has none.",
        default=False,
    )

    _takes_zero_rows = True

    def online_rules(self, sqradius):
        return Rules(FixedThreshold(math.inf), Additive(most=1), NoShrink())

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius), until=lambda run: True)  # one pass is all

    def _scale(self, run):
        return 1.0
