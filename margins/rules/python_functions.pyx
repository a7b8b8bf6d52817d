"""Rules that are Python functions, called with the numbers that their parameters name.

A function is called after every update, or run without the interpreter if numba has compiled it. The names of
its parameters, which `Python` lists, are resolved once (`margins.rules.functions`): a call copies the numbers
out of an array that each kind of rule fills in the order of `NAMES`.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN
from margins.rules._base cimport Condition, Rules, Sample, Shrink, State, Step, Thresholds, Update
from margins.rules._coefficients cimport add_within_bounds

import sys

from margins.rules.functions import NAMES, compiled, name_of, needs_of, path_of

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject* const* arguments, size_t n, PyObject* names)


def Python(function, kind="condition", compile=None):
    """A condition, an update or a shrink that is a Python function, for trying ideas.

    The names of its parameters say what it is called with; each is a float. Every update, and nothing
    else, takes the GIL for it, unless it is compiled. `condition`, `update` and `shrink` do the same as
    decorators, and `Rules` wraps a plain function given in the place of a rule.

    Parameters
    ----------
    function : callable
        A condition returns the threshold: a sample is misclassified if ``product <= threshold``. An
        update returns how much of the sample is added, within the bounds of its dual variable. A shrink
        returns the factor by which the weight vector is multiplied before that. Parameters, in any
        order, of all three kinds:

        - ``sqnorm``: the squared length of the weight vector, bias and slacks included;
        - ``t``: the number of updates, multiplicities counted;
        - ``n_updates``: all updates, unlearning included;
        - ``dual_sum``: the sum of the dual variables. ``sqrt(sqnorm) / dual_sum`` bounds the maximum
          margin from above;

        of conditions and updates:

        - ``label``: -1 or 1;

        of updates:

        - ``product``: the signed score, ``label * (w.x + b)``, slack included;
        - ``threshold``: what the condition has returned, so that it need not be computed again;
        - ``sample_sqnorm``: the squared length of the sample, bias feature and slack included;
        - ``dual``, ``upper``: its dual variable, and the most that may become (inf: unbounded);
        - ``factor``: what the shrink of the same rules returns;
        - ``index``: of the sample, among those of positive weight.

        A parameter of another name keeps its default, and must have one.
    kind : "condition", "update" or "shrink"
    compile : "numba", optional
        Compile it, by numba's ``cfunc``: it then runs without the GIL. A division by 0 gives inf or NaN.

    Returns
    -------
    Condition, Update or Shrink
        To be called as the function is.

    Raises
    ------
    TypeError
        If `function` is not a function.
    ValueError
        If a parameter has a name that is not known for this kind, or numba cannot compile the function.
    ImportError
        If `compile` is "numba" and numba is not installed.

    Examples
    --------
    >>> rule = Python(lambda sqnorm, t: 0.5 * sqnorm / t if t else 0.0)
    >>> rule(sqnorm=4.0, t=2.0)
    1.0
    >>> Python(lambda squared: 0.5 * squared)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: Parameters of <lambda>, a condition, must be among sqnorm, t, ... Got squared.
    """
    needs_of(function, kind)
    if compile not in (None, "numba"):
        raise ValueError(f"compile of Python must be 'numba' or None. Got {compile!r}.")
    return {"condition": PythonCondition, "shrink": PythonShrink, "update": PythonUpdate}[kind](function, compile)


def condition(function=None, *, compile=None):
    """Make a Python function a condition; a decorator, see `Python`.

    Parameters
    ----------
    function : callable
        Returns the threshold. Parameters: ``sqnorm``, ``t``, ``n_updates``, ``dual_sum``, ``label``.
    compile : "numba", optional

    Returns
    -------
    Condition

    Examples
    --------
    >>> @condition
    ... def half_of_the_best(sqnorm, t):
    ...     return 0.5 * sqnorm / t if t else 0.0
    >>> half_of_the_best
    Python(half_of_the_best, 'condition')
    """
    return _decorated(function, "condition", compile)


def update(function=None, *, compile=None):
    """Make a Python function an update; a decorator, see `Python`.

    Parameters
    ----------
    function : callable
        Returns how much of a misclassified sample is added; not 0, and finite. Parameters: those of a
        condition, ``product``, ``threshold``, ``sample_sqnorm``, ``dual``, ``upper``, ``factor``,
        ``index``.
    compile : "numba", optional

    Returns
    -------
    Update

    Examples
    --------
    >>> @update
    ... def to_the_threshold(product, threshold, sample_sqnorm):
    ...     return (threshold - product) / sample_sqnorm + 1e-6
    >>> to_the_threshold(product=-1.0, threshold=1.0, sample_sqnorm=4.0)
    0.500001
    """
    return _decorated(function, "update", compile)


def shrink(function=None, *, compile=None):
    """Make a Python function a shrink; a decorator, see `Python`.

    Parameters
    ----------
    function : callable
        Returns a factor in (0, 1]. Parameters: ``sqnorm``, ``t``, ``n_updates``, ``dual_sum``. Where an
        update has a multiplicity, only ``t`` advances within it.
    compile : "numba", optional

    Returns
    -------
    Shrink

    Examples
    --------
    >>> @shrink
    ... def forgetful(t):
    ...     return t / (t + 1) if t else 1.0
    >>> forgetful(3.0)
    0.75
    """
    return _decorated(function, "shrink", compile)


def _decorated(function, kind, compile):
    if function is None:  # @condition(compile=...)
        return lambda function: Python(function, kind, compile)
    return Python(function, kind, compile)


def _named(module, name):
    """The rule that has replaced a decorated function: for pickles."""
    __import__(module)
    rule = sys.modules[module]
    for part in name.split("."):
        rule = getattr(rule, part)
    return rule


cdef class Function:
    """A Python function, or its compilation by numba, called with numbers out of an array.

    Parameters
    ----------
    function : callable
    kind : str
    compile : "numba" or None
    """

    def __init__(self, function, str kind, compile):
        needs = needs_of(function, kind)
        self.function, self.kind, self.compile, self.names = function, kind, compile, needs.names
        self.n_positional = len(needs.positional)
        self.keywords = needs.keyword or None
        for i, name in enumerate(needs.names):
            self.places[i] = NAMES[kind].index(name)
        if compile is not None:
            self.c_function = compiled(function, kind, needs)
            self.call = <values_t> <size_t> self.c_function.address

    def __repr__(self):
        compile = "" if self.compile is None else f", compile={self.compile!r}"
        return f"Python({name_of(self.function)}, {self.kind!r}{compile})"

    cdef double evaluate(self, const double* values) noexcept nogil:
        if self.call != NULL:
            return self.call(values)
        return self._evaluate(values)

    cdef double _evaluate(self, const double* values) noexcept with gil:
        """NaN, at which the pass ends, if it raises: `check` raises that afterwards."""
        cdef list arguments = []    # keeps them alive
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


def _reduced(rule, Function call):
    path = path_of(rule, call.function)
    if path is not None:
        return _named, path
    return Python, (call.function, call.kind, call.compile)


cdef inline void _fill(const State* state, double* values) noexcept nogil:
    """Store the numbers that all kinds may name, in the order of `NAMES`."""
    values[0], values[1] = state.sqnorm, state.t
    values[2], values[3] = state.n_updates, state.dual_sum


cdef class PythonCondition(Condition):
    """A condition that is a Python function; see `Python`."""

    def __init__(self, function, compile=None):
        self.call = Function(function, "condition", compile)
        self.names_label = "label" in self.call.names

    def __repr__(self):
        return repr(self.call)

    def __call__(self, *args, **kwargs):
        return self.call.function(*args, **kwargs)

    def __reduce__(self):
        return _reduced(self, self.call)

    @property
    def function(self):
        """The function."""
        return self.call.function

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


cdef class PythonShrink(Shrink):
    """A shrink that is a Python function; see `Python`."""

    def __init__(self, function, compile=None):
        self.call = Function(function, "shrink", compile)

    def __repr__(self):
        return repr(self.call)

    def __call__(self, *args, **kwargs):
        return self.call.function(*args, **kwargs)

    def __reduce__(self):
        return _reduced(self, self.call)

    @property
    def function(self):
        """The function."""
        return self.call.function

    cdef double factor(self, const State* state) noexcept nogil:
        cdef double values[MOST_NAMES]
        _fill(state, values)
        return self.call.evaluate(values)

    cdef int check(self) except -1:
        return self.call.check()


cdef class PythonUpdate(Update):
    """An update that is a Python function; see `Python`."""

    def __init__(self, function, compile=None):
        self.call = Function(function, "update", compile)

    def __repr__(self):
        return repr(self.call)

    def __call__(self, *args, **kwargs):
        return self.call.function(*args, **kwargs)

    def __reduce__(self):
        return _reduced(self, self.call)

    @property
    def function(self):
        """The function."""
        return self.call.function

    @property
    def needs_dual(self):
        """True if the function names ``dual``."""
        return "dual" in self.call.names

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        cdef double values[MOST_NAMES]
        cdef double factor = rules.shrink.factor(state)
        _fill(state, values)
        values[4] = 1 if sample.positive else -1
        values[5], values[6], values[7] = sample.product, sample.threshold, sample.sqnorm
        values[8], values[9], values[10], values[11] = sample.dual, sample.upper, factor, sample.k
        add_within_bounds(self.call.evaluate(values), sample, factor, out)

    cdef int check(self) except -1:
        return self.call.check()
