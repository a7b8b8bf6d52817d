"""The base classes of rules, and the integer search for repetitions.

    p = a.y_k                                     one inner product
    if p <= threshold(state):   a <- s a + c y_k  (learning)
    elif p >= ceiling(state):   a <- a - c y_k    (unlearning, only while alpha_k > 0)
    otherwise:                  a <- s a          (only if the shrink decays)

A `Condition` gives the thresholds, an `Update` the coefficient c and its multiplicity, and a `Shrink` the
factor s; `Rules` holds one of each. Rules have no state: everything that changes is in `State`.
"""

from libc.math cimport INFINITY, NAN, fabs, floor, isnan
from margins._limits cimport INTEGER_ROOT_TOLERANCE
from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport ABI, Sample, State, Step, Thresholds, advance, whole
from margins.rules._weight_vector cimport WeightVector

import sys


cdef bint record(Tally* tally, Failure failure, Py_ssize_t k, double value) noexcept nogil:
    """Record what a rule returned at sample k, and return False."""
    tally.failure, tally.failed, tally.value = failure, k, value
    return False


cdef bint record_thresholds(Tally* tally, Py_ssize_t k, const Thresholds* thresholds) noexcept nogil:
    """Record the first threshold that is NaN or -inf, and return False."""
    cdef double value = thresholds.unlearn[1]
    if not thresholds.learn[0] > -INFINITY:
        value = thresholds.learn[0]
    elif not thresholds.learn[1] > -INFINITY:
        value = thresholds.learn[1]
    elif not thresholds.unlearn[0] > -INFINITY:
        value = thresholds.unlearn[0]
    return record(tally, INVALID_THRESHOLD, k, value)


cdef bint record_step(Tally* tally, Py_ssize_t k, const Step* step) noexcept nogil:
    """Record the first number of a step that is not finite, and return False."""
    cdef double value = step.repetitions
    if not fabs(step.add) < INFINITY:
        value = step.add
    elif not fabs(step.shrink) < INFINITY:
        value = step.shrink
    return record(tally, INVALID_STEP, k, value)


cdef class Condition:
    """A rule that decides which samples are misclassified: those with ``p <= threshold(state)``.

    A threshold depends only on the state and the label, so it is evaluated after an update and cached.
    Subclasses override `threshold`, or `thresholds` if labels differ or samples are unlearned.

    See Also
    --------
    Update, Shrink : The other rules of an algorithm.
    margins.rules.Python : Rules from Python functions.

    Examples
    --------
    >>> from margins.rules import Condition, Mistake
    >>> isinstance(Mistake(), Condition), Mistake().unlearns
    (True, False)
    """

    cdef int check(self) except -1:
        """Raise the error, if any, of an evaluation since the last check: evaluations cannot raise."""
        return 0

    cdef double threshold(self, const State* state) noexcept nogil:
        return 0

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = out.learn[1] = self.threshold(state)
        out.unlearn[0] = out.unlearn[1] = INFINITY

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        """Return the real root mu_+ of "no longer misclassified after mu plain additions"; NaN if not known."""
        return NAN

    cdef epoch_t fused_epoch(self, Rules rules, BinaryData data, WeightVector a) except? NULL:
        """Return a loop specialised to these rules, this problem and this weight vector, or NULL.

        It must compute the same numbers as `margins._update.mini_epoch`, bit for bit.
        """
        return NULL

    @property
    def unlearns(self) -> bool:
        """True if samples can be unlearned, which needs their dual variables."""
        return False

    def repeats_with(self, Shrink shrink) -> bool:
        """Return True if `repetitions` holds for updates that also shrink by `shrink`."""
        return shrink.is_identity

    # These wrap the C methods for checks and tests.
    def py_threshold(self, dict state=None, positive: bool = True) -> float:
        cdef State s = _state_of(state)
        cdef Thresholds out
        self.thresholds(&s, &out)
        return out.learn[bool(positive)]

    def py_ceiling(self, dict state=None, positive: bool = True) -> float:
        cdef State s = _state_of(state)
        cdef Thresholds out
        self.thresholds(&s, &out)
        return out.unlearn[bool(positive)]


cdef class Shrink:
    """The factor by which the weight vector shrinks before a sample is added.

    Subclasses override `factor`, and `repeat` if repeated updates have a closed form. They override `decay`
    and `decays` if samples without an update shrink the weight vector, too.

    See Also
    --------
    Condition, Update : The other rules of an algorithm.
    margins.rules.Python : Rules from Python functions.

    Examples
    --------
    >>> from margins.rules import ConstantDecay, NoShrink
    >>> NoShrink().is_identity, ConstantDecay(0.5).decays
    (True, True)
    """

    @property
    def is_identity(self) -> bool:
        """True if the rule never shrinks."""
        return False

    @property
    def decays(self) -> bool:
        """True if every sample shrinks the weight vector; `State.t` then counts samples."""
        return False

    cdef double decay(self, const State* state) noexcept nogil:
        """Return the factor of a sample without an update; called only if `decays`."""
        return 1

    cdef int check(self) except -1:
        """Raise the error, if any, of an evaluation since the last check: evaluations cannot raise."""
        return 0

    cdef double factor(self, const State* state) noexcept nogil:
        """Return the factor of the next single update."""
        return 1

    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil:
        """Compute `repetitions` times "shrink, then add y" as one step.

        This default takes one at a time, and is valid for any factor that depends on t alone.
        """
        cdef State after = state[0]
        cdef double factor, remaining = repetitions
        out.shrink, out.add, out.repetitions = 1, 0, repetitions
        while remaining >= 1:
            factor = self.factor(&after)
            out.shrink *= factor
            out.add = out.add * factor + 1
            after.t += 1
            remaining -= 1

    cdef double repetitions(self, const State* state, const Sample* sample, double b) noexcept nogil:
        """Return the real root mu_+ of "(shrunk p) > b after mu updates"; NaN if not known."""
        return NAN

    # These wrap the C methods for checks and tests.
    def py_factor(self, dict state=None) -> float:
        cdef State s = _state_of(state)
        return self.factor(&s)

    def py_repeat(self, double repetitions, dict state=None) -> tuple[float, float]:
        cdef State s = _state_of(state)
        cdef Step out
        self.repeat(&s, repetitions, &out)
        return out.shrink, out.add


cdef class Update:
    """A rule that decides how much of a misclassified sample is added. The base class adds nothing.

    An update must add every misclassified sample below the upper bound of its dual variable. While it does
    not, a full epoch without changes does not count as convergence. `Step.rounded` marks a step that would
    only add a rounding error.

    See Also
    --------
    Condition, Shrink : The other rules of an algorithm.
    margins.rules.Python : Rules from Python functions.

    Examples
    --------
    >>> from margins.rules import Additive, Update
    >>> isinstance(Additive(), Update), Additive().needs_dual
    (True, False)
    """

    @property
    def needs_dual(self) -> bool:
        """True if the rule reads dual variables, which not every run keeps."""
        return False

    cdef int check(self) except -1:
        """Raise the error, if any, of an evaluation since the last check: evaluations cannot raise."""
        return 0

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, 0, 0

    cdef void unlearn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, 0, 0


abi: int = ABI
cdef unsigned long HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: set for classes made by a Python class statement


def _require_abi_of(type rule):
    """Raise ImportError if a compiled rule from another package has not checked its binary interface."""
    for ancestor in rule.__mro__:
        module = ancestor.__module__
        if module.split(".")[0] in ("margins", "builtins") or ancestor.__flags__ & HEAP_TYPE:
            continue
        found = getattr(sys.modules.get(module), "margins_abi", None)
        if found != ABI:
            raise ImportError(
                f"Rule {ancestor.__name__} of {module} must be compiled against version {ABI} of the "
                f"binary interface of margins. Got {found}. The module states its version by "
                "`margins_abi = require_abi()`, cimported from margins._update."
            )


cdef State _state_of(dict values):
    cdef State state
    values = values or {}
    state.scale = values.get("scale", 1.0)
    state.label_sum = values.get("label_sum", 0.0)
    state.sqnorm = values.get("sqnorm", 0.0)
    state.dual_sum = values.get("dual_sum", 0.0)
    state.t = values.get("t", 0.0)
    state.n_updates = values.get("n_updates", 0.0)
    return state


def _rule_of(rule, type kind, str name):
    """Return the rule, or the rule that wraps a Python function."""
    if isinstance(rule, kind):
        return rule
    if callable(rule) and not isinstance(rule, (type, Condition, Update, Shrink)):
        from margins.rules.adapters import Python  # imported late: it inherits from the classes of this module
        return Python(rule, name)
    raise TypeError(
        f"{name} of Rules must be {'an' if name == 'update' else 'a'} {kind.__name__} or a Python function. "
        f"Got {rule!r}."
    )


cdef class Rules:
    """A condition, an update and a shrink, which together make an algorithm.

    `repetitions` is the number of updates by one sample, processed repeatedly, until it is no longer misclassified.

    Parameters
    ----------
    condition : Condition or callable
        A plain Python function is wrapped; see `margins.rules.Python`.
    update : Update or callable
    shrink : Shrink or callable

    Raises
    ------
    TypeError
        If an argument is a rule of another kind.
    ImportError
        If a compiled rule was compiled against another binary interface.

    See Also
    --------
    Condition, Update, Shrink : The three kinds of rules.

    Examples
    --------
    >>> from margins.rules import Additive, DynamicMargin, NoShrink, Rules
    >>> Rules(DynamicMargin(0.25), Additive(), NoShrink())
    Rules(DynamicMargin(eps=0.25), Additive(eta=1, most=inf), NoShrink())
    """

    def __init__(
        self, condition: Condition | Callable[..., float], update: Update | Callable[..., float],
        shrink: Shrink | Callable[..., float],
    ):
        self.condition = _rule_of(condition, Condition, "condition")
        self.update = _rule_of(update, Update, "update")
        self.shrink = _rule_of(shrink, Shrink, "shrink")
        for rule in (self.condition, self.update, self.shrink):
            _require_abi_of(type(rule))
        self.decays = bool(self.shrink.decays)
        self.closed_form = bool(self.condition.repeats_with(self.shrink))

    def __repr__(self):
        return f"Rules({self.condition!r}, {self.update!r}, {self.shrink!r})"

    cdef int check(self) except -1:
        """Raise the error of a rule's evaluation, if there was one."""
        self.condition.check()
        self.update.check()
        self.shrink.check()
        return 0

    cdef bint _misclassified_after(
        self, double repetitions, double eta, const State* state, const Sample* sample
    ) noexcept nogil:
        """Return True if the sample is still misclassified after this many updates."""
        cdef State after = state[0]
        cdef Step step
        cdef Thresholds thresholds
        self.shrink.repeat(state, repetitions, &step)
        advance(&after, &step, eta * step.add, sample.product, sample.sqnorm)
        self.condition.thresholds(&after, &thresholds)
        return step.shrink * sample.product + eta * step.add * sample.sqnorm <= thresholds.learn[sample.positive]

    cdef double repetitions(self, double eta, double most, const State* state, const Sample* sample) noexcept nogil:
        """Return the smallest number of updates, from 1 to `most`, that ends the misclassification.

        It comes from the closed form. Without one, or if rounding may have moved the root across an integer, it
        is found by search: {mu : still misclassified} is an interval from 0.
        """
        cdef double root, low, high, middle
        most = whole(most)
        if most <= 1:
            return 1
        if self.closed_form and eta == 1:
            root = self.condition.repetitions(state, sample)
            if root >= most:
                return most
            if not isnan(root):
                root = max(root, 0)
                low = whole(root + 0.5)
                if fabs(root - low) > INTEGER_ROOT_TOLERANCE * max(low, 1):
                    return whole(root) + 1
                if low < 1:
                    return 1 if not self._misclassified_after(1, eta, state, sample) else 2
                # The root is the integer `low` or just next to it.
                return low + 1 if self._misclassified_after(low, eta, state, sample) else low
        low, high = 0, 1
        while high < most and self._misclassified_after(high, eta, state, sample):
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = floor(low + (high - low) / 2)
            if self._misclassified_after(middle, eta, state, sample):
                low = middle
            else:
                high = middle
        return high

    # This wraps the C method for checks and tests.
    def py_repetitions(self, double product, double sqnorm, dict state=None, double eta=1.0,
                       double most=INFINITY, bint positive=True) -> float:
        cdef State s = _state_of(state)
        cdef Sample sample
        sample.k, sample.positive, sample.product, sample.sqnorm = 0, positive, product, sqnorm
        sample.dual, sample.upper, sample.threshold, sample.weight = 0, INFINITY, NAN, 1
        return self.repetitions(eta, most, &s, &sample)
