"""The perceptron with dynamic margin, by a C function."""

import ctypes

from scipy import LowLevelCallable

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.rules import Additive, Native, NoShrink, Python, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import NESTED_SETS


def threshold(sqnorm, t, dual_sum, label):
    return 0.9 * sqnorm / t if t else 0.0


c_threshold = ctypes.CFUNCTYPE(*[ctypes.c_double] * 5)(threshold)
by_pointer = Native(LowLevelCallable(c_threshold))
by_name = Python(threshold)


class FunctionPerceptron(MaximumMarginClassifier):
    """The perceptron with dynamic margin and eps = 0.1, by a function that has a C pointer.

    **Source**: Panagiotakopoulos & Tsampouka (2011), condition (8).
    """

    condition = by_pointer

    def phases(self, run):
        yield Phase(Rules(self.condition, Additive(), NoShrink()), NESTED_SETS)


class PythonFunctionPerceptron(FunctionPerceptron):
    """The same by the function itself.

    **Source**: Panagiotakopoulos & Tsampouka (2011), condition (8).
    """

    condition = by_name
