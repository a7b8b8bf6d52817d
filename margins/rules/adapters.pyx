"""Rules that are somebody's function: any C function at native speed, or Python's for trying ideas.

What a function is given says what it decides. With |a|^2, the clock t and S, the sum of the dual
variables, and all of it double:

    condition   threshold(|a|^2, t, S, label)                  the pattern is misclassified iff p <= it
    shrink      factor(|a|^2, t, S)                            by what a shrinks before the next addition
    update      coefficient(p, |y_k|^2, alpha_k, upper_k, |a|^2, t)   how much of y_k is added; 0: none

A C function may take one more argument, the ``void *`` of its LowLevelCallable's user data.
"""

from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport INFINITY, isnan
from margins.rules._base cimport Condition, Rules, Shrink, State, Step, Thresholds, Update, Visit

from scipy import LowLevelCallable


def Native(function):
    """A condition, an update or a shrink that is a C function.

    Parameters
    ----------
    function : scipy.LowLevelCallable
        Of a Cython, ctypes, cffi or numba (``cfunc(...).ctypes``) function; its signature, doubles
        only, says which rule it is (see above). The function must not need the GIL.

    Returns
    -------
    Condition, Shrink or Update

    Raises
    ------
    TypeError
        If it is no LowLevelCallable.
    ValueError
        If its signature is none of the three.

    Examples
    --------
    >>> import ctypes
    >>> from scipy import LowLevelCallable
    >>> @ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4)
    ... def threshold(sqnorm, t, dual_sum, label):
    ...     return 1.0
    >>> Native(LowLevelCallable(threshold)).py_threshold()
    1.0
    """
    if not isinstance(function, LowLevelCallable):
        raise TypeError(f"Native must be given a scipy.LowLevelCallable. Got {function!r}.")
    arguments = _arguments(function.signature)
    takes_data = arguments[len(arguments) - 1 :] == ["void*"]
    doubles = arguments[: len(arguments) - 1] if takes_data else arguments
    kinds = {4: NativeCondition, 3: NativeShrink, 6: NativeUpdate}
    if any(argument != "double" for argument in doubles) or len(doubles) not in kinds:
        raise ValueError(
            "The function of Native must be `double (double, ...)` of 4 doubles (a condition), 3 (a "
            "shrink) or 6 (an update), and at most one `void *` behind them. "
            f"Got `{function.signature}`."
        )
    return kinds[len(doubles)](function)


def Python(function, kind="condition"):
    """A condition, an update or a shrink that is a Python function, for trying ideas.

    Every update, and nothing else, takes the GIL for it.

    Parameters
    ----------
    function : callable
        Takes the doubles listed above, returns a float.
    kind : "condition", "shrink" or "update"

    Returns
    -------
    Condition, Shrink or Update

    Examples
    --------
    >>> Python(lambda sqnorm, t, dual_sum, label: 0.5 * sqnorm).py_threshold({"sqnorm": 4.0})
    2.0
    """
    kinds = {"condition": PythonCondition, "shrink": PythonShrink, "update": PythonUpdate}
    if kind not in kinds:
        raise ValueError(f"kind of Python must be one of {', '.join(map(repr, kinds))}. Got {kind!r}.")
    if not callable(function):
        raise TypeError(f"Python must be given a callable. Got {function!r}.")
    return kinds[kind](function)


def _arguments(signature):
    """The argument types of a C signature, without names and spaces: list of str."""
    result, _, arguments = signature.partition("(")
    types = []
    if result.strip() == "double":
        for argument in arguments.partition(")")[0].split(","):
            words = argument.replace("*", " * ").split()
            types.append("void*" if words[:2] == ["void", "*"] else (words[0] if words else ""))
    return types


cdef void* _pointer(function, void** user_data) except NULL:
    """The C function of a LowLevelCallable, and its user data."""
    capsule = tuple.__getitem__(function, 0)
    user_data[0] = PyCapsule_GetContext(capsule)
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef bint _takes_data(function):
    arguments = _arguments(function.signature)
    return arguments[len(arguments) - 1] == "void*"


cdef inline void _add(double coefficient, const Visit* visit, double factor, Step* out) noexcept nogil:
    """Add so much, within the bounds of the dual variable; NaN and 0: nothing."""
    cdef double dual = factor * visit.dual
    out.shrink, out.repetitions = factor, 1
    out.add = min(max(coefficient, -dual), visit.upper - dual)
    if isnan(coefficient) or out.add == 0:
        out.shrink, out.add, out.repetitions = 1, 0, 0


cdef class NativeCondition(Condition):
    """A condition that is a C function; see `Native`."""

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
                out.learn[i] = self.call_with(
                    state.sqnorm, state.t, state.dual_sum, label, self.user_data
                )
            out.unlearn[i] = INFINITY


cdef class NativeShrink(Shrink):
    """A shrink that is a C function; see `Native`."""

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
    """An update that is a C function; see `Native`."""

    def __init__(self, function):
        cdef void* pointer = _pointer(function, &self.user_data)
        self.function = function
        if _takes_data(function):
            self.call_with = <coefficient_with_t> pointer
        else:
            self.call = <coefficient_t> pointer

    def __repr__(self):
        return f"Native({self.function.signature!r})"

    cdef void learn(self, Rules rules, const State* state, const Visit* visit, Step* out) noexcept nogil:
        cdef double c
        if self.call != NULL:
            c = self.call(
                visit.product, visit.sqnorm, visit.dual, visit.upper, state.sqnorm, state.t
            )
        else:
            c = self.call_with(
                visit.product, visit.sqnorm, visit.dual, visit.upper, state.sqnorm, state.t,
                self.user_data
            )
        _add(c, visit, rules.shrink.factor(state), out)


cdef class PythonCondition(Condition):
    """A condition that is a Python function; see `Python`."""

    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return f"Python({self.function!r}, 'condition')"

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = self._call(state.sqnorm, state.t, state.dual_sum, -1)
        out.learn[1] = self._call(state.sqnorm, state.t, state.dual_sum, 1)
        out.unlearn[0] = out.unlearn[1] = INFINITY

    cdef double _call(self, double sqnorm, double t, double dual_sum, double label) noexcept with gil:
        if self.error is None:
            try:
                return self.function(sqnorm, t, dual_sum, label)
            except BaseException as error:
                self.error = error
        return -INFINITY  # nothing is misclassified until `check` raises it

    cdef int check(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0


cdef class PythonShrink(Shrink):
    """A shrink that is a Python function; see `Python`."""

    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return f"Python({self.function!r}, 'shrink')"

    cdef double factor(self, const State* state) noexcept nogil:
        return self._call(state.sqnorm, state.t, state.dual_sum)

    cdef double _call(self, double sqnorm, double t, double dual_sum) noexcept with gil:
        if self.error is None:
            try:
                return self.function(sqnorm, t, dual_sum)
            except BaseException as error:
                self.error = error
        return 1

    cdef int check(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0


cdef class PythonUpdate(Update):
    """An update that is a Python function; see `Python`."""

    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return f"Python({self.function!r}, 'update')"

    cdef void learn(self, Rules rules, const State* state, const Visit* visit, Step* out) noexcept nogil:
        cdef double c = self._call(
            visit.product, visit.sqnorm, visit.dual, visit.upper, state.sqnorm, state.t
        )
        _add(c, visit, rules.shrink.factor(state), out)

    cdef double _call(
        self, double product, double pattern_sqnorm, double dual, double upper, double sqnorm, double t
    ) noexcept with gil:
        if self.error is None:
            try:
                return self.function(product, pattern_sqnorm, dual, upper, sqnorm, t)
            except BaseException as error:
                self.error = error
        return 0

    cdef int check(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0
