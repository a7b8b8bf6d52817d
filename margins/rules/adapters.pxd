"""Rules made from functions; each class is defined in the module of its kind."""

from margins.rules.c_functions cimport (
    NativeCondition, NativeShrink, NativeUpdate, coefficient_t, coefficient_with_t, factor_t, factor_with_t,
    full_coefficient_t, full_coefficient_with_t, threshold_t, threshold_with_t,
)
from margins.rules.python_functions cimport MOST_NAMES, Function, PythonCondition, PythonShrink, PythonUpdate, values_t
