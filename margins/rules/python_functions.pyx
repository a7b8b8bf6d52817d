"""Rules made from Python functions, called with the numbers that their parameters name.

A function is called after every update. The names of its parameters (see `margins.rules.Python`) are resolved once, by
`margins.rules.functions`. A call copies the numbers from an array that each kind of rule fills in the order of `NAMES`.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN
from margins.rules._base cimport Condition, Rules, Sample, Shrink, State, Step, Thresholds, Update
from margins.rules._coefficients cimport add_within_bounds

import sys

from margins.rules.functions import NAMES, name_of, needs_of, path_of

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject* const* arguments, size_t n, PyObject* names)


def _named(module, name):
    """Return the rule that has replaced a decorated function; for pickles."""
    __import__(module)
    rule = sys.modules[module]
    for part in name.split("."):
        rule = getattr(rule, part)
    return rule


cdef class Function:
    """A Python function, called with numbers from an array."""

    def __init__(self, function, str kind):
        positional, keywords = needs_of(function, kind)
        self.function, self.kind, self.names = function, kind, positional + keywords
        self.n_positional, self.keywords = len(positional), keywords or None
        for i, name in enumerate(self.names):
            self.places[i] = NAMES[kind].index(name)

    def __repr__(self):
        return f"Python({name_of(self.function)}, {self.kind!r})"

    cdef double evaluate(self, const double* values) noexcept with gil:
        """Call the function. If it raises, return NaN, which ends the pass; `check` then raises the error."""
        cdef list arguments = []    # keeps the arguments alive
        cdef PyObject* pointers[MOST_NAMES]
        cdef Py_ssize_t i
        if self.error is not None:
            return NAN
        try:
            for i in range(len(self.names)):
                arguments.append(values[self.places[i]])
                pointers[i] = <PyObject*> arguments[i]
            result = PyObject_Vectorcall(
                self.function, pointers, self.n_positional, <PyObject*> self.keywords if self.keywords else NULL
            )
            return _number(result, self)
        except BaseException as error:
            self.error = error
        return NAN

    cdef int check(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0


cdef double _number(result, Function function) except? -1:
    try:
        return result
    except TypeError:
        raise TypeError(f"{function!r} must return a float. Got {result!r}.") from None


class FromFunction:
    """What rules made from Python functions share; `call` is the Function."""

    __slots__ = ()

    def __repr__(self):
        return repr(self.call)

    def __call__(self, *args: float, **kwargs: float) -> float:
        return self.call.function(*args, **kwargs)

    @property
    def function(self) -> Callable[..., float]:
        """The function."""
        return self.call.function


def _reduced(rule, Function call):
    path = path_of(rule, call.function)
    if path is not None:
        return _named, path
    return type(rule), (call.function,)


cdef inline void _fill(const State* state, double* values) noexcept nogil:
    """Store the numbers that all kinds have, in the order of `NAMES`."""
    values[0], values[1] = state.sqnorm, state.t
    values[2], values[3] = state.n_updates, state.dual_sum


cdef class PythonCondition(Condition, FromFunction):
    """A condition made from a Python function; see `Python`."""

    def __init__(self, function):
        self.call = Function(function, "condition")
        self.names_label = "label" in self.call.names

    def __reduce__(self):
        return _reduced(self, self.call)

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        cdef double values[MOST_NAMES]
        _fill(state, values)
        values[4] = -1
        out.learn[0] = out.learn[1] = self.call.evaluate(values)
        if self.names_label:
            values[4] = 1
            out.learn[1] = self.call.evaluate(values)
        out.unlearn[0] = out.unlearn[1] = INFINITY

    cdef int check(self) except -1:
        return self.call.check()


cdef class PythonShrink(Shrink, FromFunction):
    """A shrink made from a Python function; see `Python`."""

    def __init__(self, function):
        self.call = Function(function, "shrink")

    def __reduce__(self):
        return _reduced(self, self.call)

    cdef double factor(self, const State* state) noexcept nogil:
        cdef double values[MOST_NAMES]
        _fill(state, values)
        return self.call.evaluate(values)

    cdef int check(self) except -1:
        return self.call.check()


cdef class PythonUpdate(Update, FromFunction):
    """An update made from a Python function; see `Python`."""

    def __init__(self, function):
        self.call = Function(function, "update")

    def __reduce__(self):
        return _reduced(self, self.call)

    @property
    def needs_dual(self) -> bool:
        """True if the function has a parameter ``dual``."""
        return "dual" in self.call.names

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double values[MOST_NAMES]
        cdef double factor = rules.shrink.factor(state)
        _fill(state, values)
        values[4] = 1 if sample.positive else -1
        values[5], values[6], values[7] = sample.product, sample.threshold, sample.sqnorm
        values[8], values[9], values[10], values[11] = sample.dual, sample.upper, factor, sample.k
        values[12] = sample.weight
        add_within_bounds(self.call.evaluate(values), sample, factor, out)

    cdef int check(self) except -1:
        return self.call.check()
