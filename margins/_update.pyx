"""One presentation of one pattern, and the loop over patterns.

The problem: given patterns y_k = l_k [x_k, rho] (labels reflected, augmented by rho), each with a
private coordinate Delta_k if the margin is soft, find a weight vector a with a.y_k > 0 by as much as
the rules ask. Every algorithm of this package is this loop with other rules:

    p = a.y_k                                     one inner product
    if p <= threshold(state):   a <- s a + c y_k  (learning)
    elif p >= ceiling(state):   a <- a - c y_k    (unlearning, only while alpha_k > 0)
    otherwise:                  a <- s a          (only if the shrink decays)

Left in place after every update (alpha_k is the accumulated weight of pattern k):

    a        = scale * (v, rho label_sum, beta)   lazily scaled: a shrink is one multiplication
    |a|^2    <- s^2 |a|^2 + 2 s c p + c^2 N_k     recomputed by `WeightVector.recompute`
    S        <- s S + c                           the sum of all alpha_k

The private coordinate of pattern k carries the weight Delta_k alpha_k, so it is never stored: it adds
Delta_k^2 alpha_k to a.y_k and Delta_k^2 to N_k. Thresholds change only when a does, so they are
computed after an update and merely compared at an inspection.

Source: Panagiotakopoulos & Tsampouka (2010, 2011, 2012); the private coordinates: section 2 of 2011.
"""

from libc.math cimport INFINITY, NAN, fabs, floor, isnan, sqrt
from margins._sparse cimport AHEAD, axpy
from margins.linalg._sums cimport dot_of

import sys

import numpy as np



# ----------------------------------------------------------------------------------------------
# The base rules
# ----------------------------------------------------------------------------------------------

cdef class Condition:
    """Which patterns are misclassified? Those with ``p <= threshold(state)``.

    A threshold depends on the state and the label only: it is evaluated after an update and cached.
    Subclasses override `threshold`, or `thresholds` if labels differ or patterns are unlearned.
    """

    cdef int check(self) except -1:
        """Raise what has gone wrong since the last check, where no exception could be raised."""
        return 0

    cdef double threshold(self, const State* state) noexcept nogil:
        return 0

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = out.learn[1] = self.threshold(state)
        out.unlearn[0] = out.unlearn[1] = INFINITY

    cdef double repetitions(self, const State* state, const Visit* visit) noexcept nogil:
        """The real root mu_+ of "no longer misclassified after mu plain additions"; NaN: none known."""
        return NAN

    @property
    def unlearns(self):
        """True if patterns may be unlearned, which needs their dual variables."""
        return False

    def repeats_with(self, Shrink shrink):
        """True if `repetitions` holds when updates also shrink by `shrink`."""
        return shrink.is_identity

    # Wrappers of the C methods, for checks and tests.
    def _py_threshold(self, dict state=None, positive=True):
        cdef State s = _state_of(state)
        cdef Thresholds out
        self.thresholds(&s, &out)
        return out.learn[bool(positive)]

    def _py_ceiling(self, dict state=None, positive=True):
        cdef State s = _state_of(state)
        cdef Thresholds out
        self.thresholds(&s, &out)
        return out.unlearn[bool(positive)]


cdef class Shrink:
    """By how much does the weight vector shrink before a pattern is added?

    Subclasses override `factor`, and `repeat` if many updates have a closed form; `decay` and `decays`
    if presentations without an update shrink too.
    """

    @property
    def is_identity(self):
        """True if nothing ever shrinks."""
        return False

    @property
    def decays(self):
        """True if every presentation shrinks; the rules' clock then counts presentations."""
        return False

    cdef double decay(self, const State* state) noexcept nogil:
        """Factor of a presentation that brings no update; asked only if `decays`."""
        return 1

    cdef int check(self) except -1:
        """Raise what has gone wrong since the last check, where no exception could be raised."""
        return 0

    cdef double factor(self, const State* state) noexcept nogil:
        """Factor of the next single update."""
        return 1

    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil:
        """`repetitions` times "shrink, then add y" as one step.

        This default walks through them, and serves every factor that depends on t alone.
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

    cdef double repetitions(self, const State* state, const Visit* visit, double b) noexcept nogil:
        """The real root mu_+ of "(shrunk p) > b after mu updates"; NaN: none known."""
        return NAN

    # Wrappers of the C methods, for checks and tests.
    def _py_factor(self, dict state=None):
        cdef State s = _state_of(state)
        return self.factor(&s)

    def _py_repeat(self, double repetitions, dict state=None):
        cdef State s = _state_of(state)
        cdef Step out
        self.repeat(&s, repetitions, &out)
        return out.shrink, out.add


cdef class Update:
    """How much of a misclassified pattern is added? The base class: nothing (0 repetitions).

    A misclassified pattern below the upper bound of its dual variable must be moved: a full epoch that
    changes nothing has not converged while there is one. `Step.rounded` says that only rounding is left.
    """

    @property
    def needs_dual(self):
        """True if it reads dual variables, which not every run keeps."""
        return False

    cdef int check(self) except -1:
        """Raise what has gone wrong since the last check, where no exception could be raised."""
        return 0

    cdef void learn(self, Rules rules, const State* state, const Visit* visit, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, 0, 0

    cdef void unlearn(self, Rules rules, const State* state, const Visit* visit, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, 0, 0


abi = ABI
cdef unsigned long HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement in Python


def _require_abi_of(type rule):
    """Raise ImportError if a compiled rule from elsewhere has not checked what it was compiled against."""
    for ancestor in rule.__mro__:
        module = ancestor.__module__
        if module.split(".")[0] in ("margins", "builtins") or ancestor.__flags__ & HEAP_TYPE:
            continue
        found = getattr(sys.modules.get(module), "margins_abi", None)
        if found != ABI:
            raise ImportError(
                f"Rule {ancestor.__name__} of {module} must be compiled against version {ABI} of the "
                f"binary interface of margins. Got {found}. The module says which by "
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
    """A rule of this kind: itself, or the one that a Python function is made."""
    if isinstance(rule, kind):
        return rule
    if callable(rule) and not isinstance(rule, (type, Condition, Update, Shrink)):
        from margins.rules.adapters import Python  # it inherits from the classes of this module
        return Python(rule, name)
    raise TypeError(
        f"{name} of Rules must be {'an' if name == 'update' else 'a'} {kind.__name__} or a Python function. "
        f"Got {rule!r}."
    )


cdef class Rules:
    """A condition, an update and a shrink: together, an algorithm.

    Also the place where repetition becomes a number: how often would this pattern, presented alone
    again and again, be updated until it is no longer misclassified?

    Parameters
    ----------
    condition : Condition or callable
        A plain Python function is wrapped: see `margins.rules.Python`.
    update : Update or callable
    shrink : Shrink or callable

    Raises
    ------
    TypeError
        If a rule is of another kind.
    ImportError
        If a compiled rule was compiled against another binary interface.
    """

    def __init__(self, condition, update, shrink):
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
        """Raise what has gone wrong in a rule."""
        self.condition.check()
        self.update.check()
        self.shrink.check()
        return 0

    cdef bint _misclassified_after(
        self, double repetitions, double eta, const State* state, const Visit* visit
    ) noexcept nogil:
        """Would the pattern still be misclassified after so many updates?"""
        cdef State after = state[0]
        cdef Step step
        cdef Thresholds thresholds
        self.shrink.repeat(state, repetitions, &step)
        advance(&after, &step, eta * step.add, visit.product, visit.sqnorm)
        self.condition.thresholds(&after, &thresholds)
        return step.shrink * visit.product + eta * step.add * visit.sqnorm <= thresholds.learn[visit.positive]

    cdef double repetitions(
        self, double eta, double most, const State* state, const Visit* visit
    ) noexcept nogil:
        """The smallest number of updates, at least 1 and at most `most`, that ends the misclassification.

        From the closed form where there is one; where there is none, or where rounding may have moved
        the root across an integer, by search: {mu : still misclassified} is an interval from 0.
        """
        cdef double root, low, high, middle
        most = whole(most)
        if most <= 1:
            return 1
        if self.closed_form and eta == 1:
            root = self.condition.repetitions(state, visit)
            if root >= most:
                return most
            if not isnan(root):
                root = max(root, 0)
                low = whole(root + 0.5)
                if fabs(root - low) > 1e-9 * max(low, 1):
                    return whole(root) + 1
                if low < 1:
                    return 1 if not self._misclassified_after(1, eta, state, visit) else 2
                # The root is the integer `low`, or just beside it.
                return low + 1 if self._misclassified_after(low, eta, state, visit) else low
        low, high = 0, 1
        while high < most and self._misclassified_after(high, eta, state, visit):
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = floor(low + (high - low) / 2)
            if self._misclassified_after(middle, eta, state, visit):
                low = middle
            else:
                high = middle
        return high

    # Wrapper of the C method, for checks and tests.
    def _py_repetitions(self, double product, double sqnorm, dict state=None, double eta=1,
                       double most=INFINITY, bint positive=True):
        cdef State s = _state_of(state)
        cdef Visit visit
        visit.k, visit.positive, visit.product, visit.sqnorm = 0, positive, product, sqnorm
        visit.dual, visit.upper, visit.threshold = 0, INFINITY, NAN
        return self.repetitions(eta, most, &s, &visit)


# ----------------------------------------------------------------------------------------------
# What is learned from, and what is learned
# ----------------------------------------------------------------------------------------------

cdef class Patterns:
    """The patterns of one binary problem, over arrays that somebody else owns.

    Parameters
    ----------
    rows : Rows
        The matrix X.
    labels : ndarray of int8, shape (m,)
        -1 or +1.
    sqnorms : ndarray of float64, shape (m,)
        |x_k|^2 + rho^2.
    sqrho : float
        rho^2, the square of the augmentation: the bias is rho^2 sum_k alpha_k l_k. 0: no bias.
    extension : ndarray of float64, shape (m,)
        Delta_k^2, 0 without the private coordinate. May be a broadcast scalar.
    upper : ndarray of float64, shape (m,)
        The most the dual variable alpha_k may become. May be a broadcast scalar.
    bonus : ndarray of float64, shape (m,), optional
        Added to a.y_k, where it is compared with the threshold, while alpha_k > 0.
    """

    def __init__(self, Rows rows not None, labels, sqnorms, double sqrho, extension, upper, bonus=None):
        self.rows = rows
        self.labels = labels
        self.sqnorms = sqnorms
        self.sqrho = sqrho
        self.extension = extension
        self.upper = upper
        self.bonus = bonus

    def with_limits(self, upper=None, bonus=None):
        """The same patterns under other upper bounds of the dual variables, or another bonus."""
        return Patterns(
            self.rows, np.asarray(self.labels), np.asarray(self.sqnorms), self.sqrho,
            np.asarray(self.extension), np.asarray(self.upper) if upper is None else upper,
            (None if self.bonus is None else np.asarray(self.bonus)) if bonus is None else bonus,
        )

    def over(self, Rows rows not None):
        """The same patterns as rows of another matrix, of the same inner products."""
        cdef Patterns result = self.with_limits()
        result.rows = rows
        return result

    @property
    def signs(self):
        """The labels -1 and +1, int8, shape (m,)."""
        return np.asarray(self.labels)

    def __len__(self):
        return self.labels.shape[0]

    @property
    def ordinary_sqnorms(self):
        """|x_k|^2 + rho^2, shape (m,)."""
        return np.asarray(self.sqnorms)

    @property
    def extension_sqnorms(self):
        """Delta_k^2, shape (m,)."""
        return np.asarray(self.extension)

    @property
    def max_upper(self):
        """The most any dual variable may become; inf: no bound."""
        return float(np.asarray(self.upper).max())

    @property
    def max_sqnorm(self):
        """R^2, the largest squared norm of an augmented and extended pattern."""
        cdef double largest = 0
        cdef Py_ssize_t k
        with nogil:
            for k in range(self.sqnorms.shape[0]):
                largest = max(largest, self.sqnorms[k] + self.extension[k])
        return largest


cdef class WeightVector:
    """The weight vector of one run: a = scale * (v, rho label_sum, beta), starting at 0.

    Parameters
    ----------
    n_features : int
        Of the rows: over those of a kernel, v holds the products with all patterns.
    n_patterns : int
        Length of the dual variables if they are kept, else 0.
    """

    def __init__(self, Py_ssize_t n_features, Py_ssize_t n_patterns=0):
        self.v = np.zeros(n_features)
        self.beta = np.zeros(n_patterns) if n_patterns else None
        self.state.scale = 1

    def __reduce__(self):
        return _restore, (
            np.asarray(self.v), None if self.beta is None else np.asarray(self.beta), self.state
        )

    def copy(self):
        """A weight vector of its own, equal to this one."""
        return _restore(np.array(self.v), None if self.beta is None else np.array(self.beta), self.state)

    def over(self, Patterns patterns not None):
        """A weight vector of its own, of the same dual variables, over `patterns.over` of its own."""
        result = _restore(np.zeros(patterns.rows.n_features), np.array(self.beta), self.state)
        result.sum_afresh(patterns)
        return result

    def clear(self):
        """Make it 0, and set its clock back; updates stay counted."""
        cdef State start
        self.v[:] = 0
        if self.beta is not None:
            self.beta[:] = 0
        start.scale = 1
        start.label_sum = start.sqnorm = start.dual_sum = start.t = 0
        start.n_updates = self.state.n_updates
        self.state = start

    def assign(self, Patterns patterns not None, const double[::1] dual not None,
               const double[::1] combination=None):
        """Make the dual variables these, and a their sum: one update of all patterns at once.

        Parameters
        ----------
        dual : ndarray of float64, shape (m,)
            alpha >= 0.
        combination : ndarray of float64, shape (n_features,) or, with an augmentation, one more, optional
            sum_k alpha_k y_k, if it has been summed already. Not over the rows of a kernel.
        """
        cdef Py_ssize_t d = self.v.shape[0]
        self.beta[:] = dual
        self.state.scale = 1
        self.state.t += 1
        self.state.n_updates += 1
        if combination is None:
            self.sum_afresh(patterns)
            return
        self.v[:] = combination[:d]
        self.state.label_sum = combination[d] / sqrt(patterns.sqrho) if patterns.sqrho > 0 else 0
        self.recompute(patterns)

    def sum_afresh(self, Patterns patterns not None):
        """Sum alpha_k y_k again: where dual variables have shrunk, a has kept what they had rounded off.

        Over the rows of a kernel it asks for those of all patterns whose dual variable is not 0.
        """
        cdef Py_ssize_t k
        cdef double c, label_sum = 0
        with nogil:
            self.v[:] = 0
            for k in range(self.beta.shape[0]):
                c = self.beta[k] * patterns.labels[k]
                if c != 0:
                    axpy(patterns.rows, k, c, &self.v[0])
                    label_sum += c
            self.state.label_sum = label_sum
        patterns.rows.check()
        self.recompute(patterns)

    def for_new_patterns(self, Py_ssize_t n_patterns):
        """The same weight vector before patterns that it has not seen: their dual variables are 0.

        Shares the weights with this one, which is not to be used any more.
        """
        return _restore(
            np.asarray(self.v), None if self.beta is None else np.zeros(n_patterns), self.state
        )

    def check_fit(self, Patterns patterns not None):
        """Raise ValueError unless this is a weight vector of these features and patterns."""
        if self.v.shape[0] != patterns.rows.n_features or (
            self.beta is not None and self.beta.shape[0] != patterns.labels.shape[0]
        ):
            raise ValueError(
                f"The weight vector must be one of {patterns.rows.n_features} features and, if it keeps "
                f"dual variables, {patterns.labels.shape[0]} patterns. Got {self.v.shape[0]} features"
                + (f" and {self.beta.shape[0]} patterns." if self.beta is not None else ".")
            )

    @property
    def keeps_dual(self):
        """True if the dual variables are kept."""
        return self.beta is not None

    @property
    def weights(self):
        """The weights of the features: ndarray of float64, shape (n_features,)."""
        return self.state.scale * np.asarray(self.v)

    @property
    def label_sum(self):
        """sum_k alpha_k l_k: the bias is rho^2 times it."""
        return self.state.scale * self.state.label_sum

    @property
    def dual(self):
        """The dual variables alpha, shape (m,), or None where they are not kept."""
        return None if self.beta is None else self.state.scale * np.asarray(self.beta)

    @property
    def sqnorm(self):
        """|a|^2 over features, bias and private coordinates."""
        return self.state.sqnorm

    @property
    def dual_sum(self):
        """S, the sum of the dual variables."""
        return self.state.dual_sum

    @property
    def t(self):
        """The rules' clock."""
        return self.state.t

    @property
    def n_updates(self):
        """Updates since the start, multiplicities counted."""
        return int(self.state.n_updates)

    def rescale(self, double factor):
        """Multiply a, and every dual variable with it, by `factor` > 0."""
        cdef Py_ssize_t j
        for j in range(self.v.shape[0]):
            self.v[j] *= factor
        if self.beta is not None:
            for j in range(self.beta.shape[0]):
                self.beta[j] *= factor
        self.state.label_sum *= factor
        self.state.sqnorm *= factor * factor
        self.state.dual_sum *= factor

    def recompute(self, Patterns patterns not None):
        """Recompute |a|^2 (and S, where the dual variables are kept): recursions collect rounding."""
        cdef double total = _ordinary_sqnorm(patterns, self), dual_sum = 0, sqscale
        cdef Py_ssize_t j
        with nogil:
            if self.beta is not None:
                for j in range(self.beta.shape[0]):
                    total += patterns.extension[j] * self.beta[j] * self.beta[j]
                    dual_sum += self.beta[j]
                self.state.dual_sum = self.state.scale * dual_sum
            sqscale = self.state.scale * self.state.scale
            self.state.sqnorm = max(sqscale * total, 0)

    def ordinary_sqnorm(self, Patterns patterns not None):
        """|a|^2 over features and bias, private coordinates left out."""
        return self.state.scale * self.state.scale * max(_ordinary_sqnorm(patterns, self), 0)

    def products(self, Patterns patterns not None):
        """The ordinary part of every a.y_k, private coordinates left out: ndarray, shape (m,)."""
        cdef Py_ssize_t k, m = len(patterns)
        result = np.empty(m)
        cdef double[::1] out = result
        with nogil:
            for k in range(m):
                out[k] = ordinary_product(patterns, self, k)
        return result


def _restore(v, beta, State state):
    cdef WeightVector a = WeightVector.__new__(WeightVector)
    a.v = v
    a.beta = beta
    a.state = state
    return a


cdef double _ordinary_sqnorm(Patterns patterns, WeightVector a) noexcept nogil:
    """|v|^2 over features and bias; over a kernel's rows sum_k beta_k y_k.v."""
    cdef double total = patterns.sqrho * a.state.label_sum * a.state.label_sum
    cdef Py_ssize_t j
    if patterns.rows.is_kernel:
        for j in range(a.beta.shape[0]):
            total += a.beta[j] * patterns.labels[j] * a.v[j]
    else:
        total += dot_of(&a.v[0], &a.v[0], a.v.shape[0])
    return total


cdef class Readout:
    """Which hypotheses of a run become the model? The base class, which keeps none: the last one.

    A hypothesis is in force from one update to the next. Between them nothing is counted visit by
    visit: `n_right` and `n_presented` are brought up to date when it is about to end. Subclasses
    override `before_update`, and `reserve` if they grow.
    """

    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Visit* visit, const Step* step
    ) noexcept nogil:
        """The hypothesis `a`, still unchanged, is about to be updated by `step`."""

    def reserve(self, Py_ssize_t n_updates):
        """Make room for so many updates: none can be made during a pass."""

    def hypothesis(self, WeightVector a, Patterns patterns):
        """The weight vector that is read out, the current one being `a`: WeightVector."""
        return a


# ----------------------------------------------------------------------------------------------
# One presentation
# ----------------------------------------------------------------------------------------------

cdef void normalise(WeightVector a) noexcept nogil:
    """Make scale 1, before it leaves the range of a double."""
    cdef Py_ssize_t j
    cdef double scale = a.state.scale
    for j in range(a.v.shape[0]):
        a.v[j] *= scale
    if a.beta is not None:
        for j in range(a.beta.shape[0]):
            a.beta[j] *= scale
    a.state.label_sum *= scale
    a.state.scale = 1


cdef void apply_decay(WeightVector a, double factor) noexcept nogil:
    """a <- factor * a, at a presentation without an update."""
    a.state.scale *= factor
    a.state.sqnorm *= factor * factor
    a.state.dual_sum *= factor
    a.state.t += 1
    keep_scale_in_range(a)


cdef inline void _look(
    Patterns patterns, WeightVector a, Py_ssize_t k, double p, const Thresholds* thresholds, Visit* out
) noexcept nogil:
    out.k = k
    out.positive = patterns.labels[k] > 0
    out.product = p
    out.sqnorm = patterns.sqnorms[k] + patterns.extension[k]
    out.upper = patterns.upper[k]
    out.threshold = thresholds.learn[out.positive]
    out.dual = a.state.scale * a.beta[k] if a.beta is not None else 0


cdef double _unsound(const Thresholds* thresholds) noexcept nogil:
    """The first of the thresholds that is NaN or -inf."""
    cdef Py_ssize_t i
    for i in range(2):
        if not thresholds.learn[i] > -INFINITY:
            return thresholds.learn[i]
        if not thresholds.unlearn[i] > -INFINITY:
            return thresholds.unlearn[i]
    return 0


cdef double _not_finite(const Step* step) noexcept nogil:
    """The first number of a step that is not finite."""
    if not fabs(step.add) < INFINITY:
        return step.add
    return step.shrink if not fabs(step.shrink) < INFINITY else step.repetitions


cdef void _expect(
    Patterns patterns, WeightVector a, const Thresholds* thresholds, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Tell a kernel which patterns of order[begin:end] would be updated as things stand.

    Their products are at hand, and rows of the kernel matrix cost less if many are computed together.
    """
    cdef Py_ssize_t i, k
    for i in range(begin, end):
        k = order[i]
        if k == order[begin - 1]:
            continue  # drawn again: it is the one whose row is asked for, and must have one slot only
        if product(patterns, a, k) <= thresholds.learn[patterns.labels[k] > 0]:
            if not patterns.rows.expect(k):
                break


cdef void mini_epoch(
    Patterns patterns, WeightVector a, Rules rules, Readout readout, const int32_t[::1] order,
    Py_ssize_t begin, Py_ssize_t end, const Membership* keep, int32_t[::1] kept, Tally* tally
) noexcept nogil:
    """Present order[begin:end], update, and keep the members of the next active set.

    `readout` None: nobody asks for hypotheses but the last. `keep` NULL: nothing is kept. Members are
    appended to `kept` behind `tally.n_kept`, which, like the other counts, goes on across calls.

    Where a rule returns a number that is not finite, the pass ends: see `tally.failure`.
    """
    cdef Py_ssize_t i, k, since = begin, refused_before = tally.n_refused
    cdef double p, compared, factor
    cdef bint positive, member, changed, has_dual = a.beta is not None
    cdef bint is_kernel = patterns.rows.is_kernel
    cdef bint has_bonus = has_dual and patterns.bonus is not None
    cdef Thresholds thresholds
    cdef Visit visit
    cdef Step step
    rules.condition.thresholds(&a.state, &thresholds)
    if not are_sound(&thresholds):
        record(tally, ILL_THRESHOLD, order[begin], _unsound(&thresholds))
        return
    for i in range(begin, end):
        if i + AHEAD < end and not is_kernel:
            ask_for(patterns, a, order[i + AHEAD])
        k = order[i]
        p = product(patterns, a, k)
        compared = p + patterns.bonus[k] if has_bonus and a.beta[k] > 0 else p
        positive = patterns.labels[k] > 0
        member = keep != NULL and (
            compared <= keep.factor * thresholds.learn[positive]
            or (keep.supported and has_dual and a.beta[k] > 0)
        )
        changed = False
        if compared <= thresholds.learn[positive]:
            _look(patterns, a, k, p, &thresholds, &visit)
            if visit.dual < visit.upper:
                step.rounded = False
                rules.update.learn(rules, &a.state, &visit, &step)
                changed = not step.repetitions <= 0  # NaN is a change, and found below
                tally.n_unmoved += not (changed or step.rounded)
            if not changed:
                tally.n_refused += 1
        elif compared >= thresholds.unlearn[positive] and has_dual and a.beta[k] > 0:
            _look(patterns, a, k, p, &thresholds, &visit)
            rules.update.unlearn(rules, &a.state, &visit, &step)
            changed = not step.repetitions <= 0
        if changed:
            if not is_finite(&step):
                record(tally, ILL_STEP, k, _not_finite(&step))
                break
            if is_kernel and patterns.rows.lacks(k):
                _expect(patterns, a, &thresholds, order, i + 1, end)
            if readout is not None:
                end_hypothesis(
                    readout, patterns, a, &visit, &step, i + 1 - since, tally.n_refused - refused_before
                )
                since, refused_before = i + 1, tally.n_refused
            apply_step(patterns, a, &visit, &step)
            tally.n_changed += 1
            rules.condition.thresholds(&a.state, &thresholds)
            if not (are_sound(&thresholds) and a.state.sqnorm < INFINITY):
                if a.state.sqnorm < INFINITY:
                    record(tally, ILL_THRESHOLD, k, _unsound(&thresholds))
                else:
                    record(tally, OVERFLOW, k, a.state.sqnorm)
                break
            if keep != NULL and keep.updated and has_dual and a.beta[k] > 0:
                member = True
        elif rules.decays:
            factor = rules.shrink.decay(&a.state)
            if not fabs(factor) < INFINITY:
                record(tally, ILL_DECAY, k, factor)
                break
            apply_decay(a, factor)
            rules.condition.thresholds(&a.state, &thresholds)
            if not are_sound(&thresholds):
                record(tally, ILL_THRESHOLD, k, _unsound(&thresholds))
                break
        if member:
            kept[tally.n_kept] = k
            tally.n_kept += 1
    if readout is not None:
        count_presentations(readout, end - since, tally.n_refused - refused_before)
