"""Rules made from C functions, which are called through pointers at the speed of the built-in rules.

A function takes doubles in a fixed order, and its signature says which rule it is:

    condition   threshold(|a|^2, t, S, label)             the sample is misclassified iff p <= it
    shrink      factor(|a|^2, t, S)                       the factor of a before the next addition
    update      coefficient(p, |y_k|^2, alpha_k, upper_k, |a|^2, t)
                coefficient(p, |y_k|^2, alpha_k, upper_k, |a|^2, t, S, label, threshold)
                                                          how much of y_k is added

where p = a.y_k, t is the number of updates, and S the sum of the dual variables alpha. An additional
argument ``void *`` receives the user data of the LowLevelCallable.
"""

from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport INFINITY
from margins.rules._base cimport Condition, Rules, Sample, Shrink, State, Step, Thresholds, Update
from margins.rules._coefficients cimport add_within_bounds


def Native(function):
    """Make a rule from a C function: a condition, an update or a shrink.

    Parameters
    ----------
    function : scipy.LowLevelCallable
        A Cython, ctypes, cffi or numba (``cfunc(...).ctypes``) function. Its signature, doubles only, says
        which rule it is:

        - 4 doubles, a condition: the squared length of the weight vector, the number t of updates, the sum of
          the dual variables, the label, -1 or 1; it returns the threshold;
        - 3 doubles, a shrink: the first three of these; it returns the factor;
        - 6 or 9 doubles, an update: the product a.y_k, the squared length of the sample, its dual variable, the
          upper bound of that variable, the squared length of the weight vector, t and, if there are 9, the sum of the
          dual variables, the label, the threshold; it returns how much of y_k is added.

        An additional argument ``void *`` receives the user data of the LowLevelCallable. The function must
        not need the GIL.

    Returns
    -------
    Condition, Shrink or Update

    Raises
    ------
    TypeError
        If `function` is not a LowLevelCallable.
    ValueError
        If its signature is not one of these.

    Examples
    --------
    >>> import ctypes
    >>> from scipy import LowLevelCallable
    >>> @ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4)
    ... def threshold(sqnorm, t, dual_sum, label):
    ...     return 1.0
    >>> Native(LowLevelCallable(threshold))
    Native('double (double, double, double, double)')
    """
    from scipy import LowLevelCallable  # only here is it used

    if not isinstance(function, LowLevelCallable):
        raise TypeError(f"Native must be given a scipy.LowLevelCallable. Got {function!r}.")
    arguments = _arguments(function.signature)
    takes_data = arguments[len(arguments) - 1 :] == ["void*"]
    doubles = arguments[: len(arguments) - 1] if takes_data else arguments
    kinds = {4: NativeCondition, 3: NativeShrink, 6: NativeUpdate, 9: NativeUpdate}
    if any(argument != "double" for argument in doubles) or len(doubles) not in kinds:
        raise ValueError(
            "The function of Native must be `double (double, ...)` of 4 doubles (a condition), 3 (a shrink), 6 or 9 "
            f"(an update), and at most one `void *` behind them. Got `{function.signature}`."
        )
    return kinds[len(doubles)](function)


def _arguments(signature):
    """Return the argument types of a C signature, without names and spaces, as a list of str."""
    result, _, arguments = signature.partition("(")
    types = []
    if result.strip() == "double":
        for argument in arguments.partition(")")[0].split(","):
            words = argument.replace("*", " * ").split()
            types.append("void*" if words[:2] == ["void", "*"] else (words[0] if words else ""))
    return types


cdef void* _pointer(function, void** user_data) except NULL:
    """Return the C function of a LowLevelCallable, and set its user data."""
    capsule = tuple.__getitem__(function, 0)
    user_data[0] = PyCapsule_GetContext(capsule)
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef bint _takes_data(function):
    arguments = _arguments(function.signature)
    return arguments[len(arguments) - 1] == "void*"


cdef class NativeCondition(Condition):
    """A condition made from a C function; see `Native`."""

    def __init__(self, function):
        cdef void* pointer = _pointer(function, &self.user_data)
        self.function = function
        if _takes_data(function):
            self.call_with = <threshold_with_t> pointer
        else:
            self.call = <threshold_t> pointer

    def __repr__(self):
        return f"Native({self.function.signature!r})"

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        cdef Py_ssize_t i
        cdef double label
        for i in range(2):
            label = 2.0 * i - 1
            if self.call != NULL:
                out.learn[i] = self.call(state.sqnorm, state.t, state.dual_sum, label)
            else:
                out.learn[i] = self.call_with(state.sqnorm, state.t, state.dual_sum, label, self.user_data)
            out.unlearn[i] = INFINITY


cdef class NativeShrink(Shrink):
    """A shrink made from a C function; see `Native`."""

    def __init__(self, function):
        cdef void* pointer = _pointer(function, &self.user_data)
        self.function = function
        if _takes_data(function):
            self.call_with = <factor_with_t> pointer
        else:
            self.call = <factor_t> pointer

    def __repr__(self):
        return f"Native({self.function.signature!r})"

    cdef double factor(self, const State* state) noexcept nogil:
        if self.call != NULL:
            return self.call(state.sqnorm, state.t, state.dual_sum)
        return self.call_with(state.sqnorm, state.t, state.dual_sum, self.user_data)


cdef class NativeUpdate(Update):
    """An update made from a C function; see `Native`."""

    def __init__(self, function):
        cdef void* pointer = _pointer(function, &self.user_data)
        self.function = function
        if len(_arguments(function.signature)) - _takes_data(function) == 6:
            if _takes_data(function):
                self.call_with = <coefficient_with_t> pointer
            else:
                self.call = <coefficient_t> pointer
        elif _takes_data(function):
            self.call_all_with = <full_coefficient_with_t> pointer
        else:
            self.call_all = <full_coefficient_t> pointer

    def __repr__(self):
        return f"Native({self.function.signature!r})"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double c, label = 1 if sample.positive else -1
        if self.call != NULL:
            c = self.call(sample.product, sample.sqnorm, sample.dual, sample.upper, state.sqnorm, state.t)
        elif self.call_with != NULL:
            c = self.call_with(
                sample.product, sample.sqnorm, sample.dual, sample.upper, state.sqnorm, state.t, self.user_data
            )
        elif self.call_all != NULL:
            c = self.call_all(
                sample.product, sample.sqnorm, sample.dual, sample.upper, state.sqnorm, state.t,
                state.dual_sum, label, sample.threshold
            )
        else:
            c = self.call_all_with(
                sample.product, sample.sqnorm, sample.dual, sample.upper, state.sqnorm, state.t,
                state.dual_sum, label, sample.threshold, self.user_data
            )
        add_within_bounds(c, sample, rules.shrink.factor(state), out)
