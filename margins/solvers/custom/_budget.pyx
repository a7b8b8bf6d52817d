"""Perceptrons that keep few samples: the weight vector is the sum of the samples in a cache.

The problem: a perceptron with a kernel, or one that must list the samples it is made of, grows with every
mistake. Here a is the sum of the samples in a cache, and a sample that was added can be removed again:

    p = a.y_k;  if p <= beta:
        if the cache is full, remove one member: a <- a - y_i
        a <- a + y_k, a new member
        if the cache is unbounded, distil: while some member has y_i.(a - y_i) > beta,
            remove the member with the largest value

A member that is removed while distilling would be classified correctly, with the margin beta, even if it had
never been added. So there are at most (R^2 + 2 beta) / gamma^2 members: adding a member lengthens |a|^2 by at most
2 beta + N_k, and its removal shortens it by more, so |a|^2 <= n (R^2 + 2 beta) for n members, while
|a| >= n gamma.

A full cache loses the member with the largest y_i.(a - y_i), the oldest if several are equal, or a random member. A
sample that is added twice is two members. The products with all members are recomputed for every removal: over the rows
of a kernel each is one stored number. If weights multiply updates, a member is that multiple of its sample.

Source: Crammer, Kandola & Singer (2003), Figures 1 and 2; Cavallanti, Cesa-Bianchi & Gentile (2007), the
randomized budget perceptron.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from margins._update cimport (
    NO_FAILURE, BinaryData, Rules, Sample, SampleLoop, Step, Tally, Thresholds, WeightVector, apply_step,
    check_sqnorm, check_step, check_thresholds, describe_sample, product,
)
from margins.rules._weight_vector cimport weight_of

import numpy as np

# y_i.(a - y_i) must exceed beta by this, in units of |y_i|^2: in a cache with one member it is 0 up to rounding.
cdef double ROUNDING = 1e-12


cdef class Cache(SampleLoop):
    """The samples that a perceptron keeps, and its loop.

    size: maximum number of members; 0: unbounded, but distilled.
    generator: if given, a full cache loses a random member, the i-th, ``i = floor(u size)``. Every sample
        draws one u, needed or not, so that results do not depend on the chunks of a stream.
    """

    def __init__(self, Py_ssize_t size=0, generator=None):
        if size < 0:
            raise ValueError(f"size of Cache must be an integer in [0, inf). Got {size}.")
        self.size = size
        self._generator = generator
        self._members = np.empty(0, dtype=np.int32)

    def __reduce__(self):
        return _restore, (self.size, self._generator, self.members, self.n_accesses)

    @property
    def members(self):
        """The samples in the cache, the oldest first, as an ndarray of int32 of shape (n_members,)."""
        return np.array(self._members[:self.n_members])

    def begin_with(self, BinaryData data not None, WeightVector a not None, Py_ssize_t n):
        """Make samples 0, ..., n - 1 the members; `a` is already their sum."""
        cdef Py_ssize_t k
        self._members = np.arange(n, dtype=np.int32)
        self.n_members = n
        for k in range(n):
            a.beta[k] = weight_of(data, k) / a.state.scale

    def full_epoch(self, BinaryData data not None, WeightVector a not None, Rules rules not None,
                   const int32_t[::1] order not None, Rules full_pass_rules=None, averaging=None):
        """Process every sample of `order`."""
        cdef Py_ssize_t n = order.shape[0]
        if not a.keeps_dual:
            raise ValueError("A Cache needs dual variables, which this weight vector does not keep.")
        members = np.empty(self.n_members + n, dtype=np.int32)  # `process` cannot allocate memory
        members[:self.n_members] = self.members
        self._members = members
        self._draws = np.zeros(n) if self._generator is None else self._generator.random(n)
        return SampleLoop.full_epoch(self, data, a, rules, order)

    cdef Py_ssize_t chunk_size(self) noexcept nogil:
        # A sample that is added needs its products with all members.
        return max(SampleLoop.chunk_size(self) // (1 + self.n_members), 1)

    cdef int process(self, const int32_t[::1] order, Py_ssize_t begin, Py_ssize_t end, Tally* tally) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(begin, end):
            tally.n_changed += self._process_sample(
                self.data, self.weights, self.rules, order[i], self._draws[i], tally
            )
            if tally.failure != NO_FAILURE:
                break
        return 0

    cdef bint _process_sample(
        self, BinaryData data, WeightVector a, Rules rules, Py_ssize_t k, double draw, Tally* tally
    ) noexcept nogil:
        """Process one sample, and return True if it was added."""
        cdef Thresholds thresholds
        cdef Py_ssize_t i
        cdef double margin, least
        cdef double p = product(data, a, k)
        rules.condition.thresholds(&a.state, &thresholds)
        if not check_thresholds(tally, k, &thresholds):
            return False
        if not p <= thresholds.learn[data.labels[k] > 0]:
            return False
        if self.size and self.n_members >= self.size:
            if self._generator is None:
                i = self._easiest(data, a, &margin)
            else:
                i = min(<Py_ssize_t> (draw * self.n_members), self.n_members - 1)
            self._remove(data, a, i, &thresholds)
        if not self._add(data, a, rules, k, &thresholds, tally):
            return False
        while not self.size and self.n_members:
            i = self._easiest(data, a, &margin)
            # Equality is not enough: the sample would be misclassified at once (with beta = 0 the first one, always).
            k = self._members[i]
            least = thresholds.learn[data.labels[k] > 0]
            if not margin > least + ROUNDING * (data.sqnorms[k] + data.diag[k]):
                break
            self._remove(data, a, i, &thresholds)
        return True

    cdef double _margin_without(self, BinaryData data, WeightVector a, Py_ssize_t i) noexcept nogil:
        """Return y_i.(a - y_i) for the i-th member."""
        cdef Py_ssize_t k = self._members[i]
        return product(data, a, k) - weight_of(data, k) * (data.sqnorms[k] + data.diag[k])

    cdef Py_ssize_t _easiest(self, BinaryData data, WeightVector a, double* margin) noexcept nogil:
        """Return the member with the largest y_i.(a - y_i), the oldest if equal, and set `margin` to this value."""
        cdef Py_ssize_t i, best = 0
        cdef double one
        margin[0] = -INFINITY
        for i in range(self.n_members):
            one = self._margin_without(data, a, i)
            if one > margin[0]:
                margin[0], best = one, i
        return best

    cdef bint _add(
        self, BinaryData data, WeightVector a, Rules rules, Py_ssize_t k, const Thresholds* thresholds, Tally* tally
    ) noexcept nogil:
        cdef Sample sample
        cdef Step step
        describe_sample(data, a, k, product(data, a, k), thresholds, &sample)
        step.rounded = False
        rules.update.learn(rules, &a.state, &sample, &step)
        if step.repetitions <= 0:
            tally.n_unmoved += not step.rounded
            return False
        if not check_step(tally, k, &step):
            return False
        apply_step(data, a, &sample, &step)
        if not check_sqnorm(tally, k, &a.state):
            return False
        self._members[self.n_members] = <int32_t> k
        self.n_members += 1
        return True

    cdef void _remove(self, BinaryData data, WeightVector a, Py_ssize_t i, const Thresholds* thresholds) noexcept nogil:
        cdef Sample sample
        cdef Step step
        cdef Py_ssize_t j, k = self._members[i]
        cdef bint is_left = False   # True if the sample was two members and is still one
        describe_sample(data, a, k, product(data, a, k), thresholds, &sample)
        step.shrink, step.add, step.repetitions = 1, -sample.weight, 1
        apply_step(data, a, &sample, &step)
        self.n_members -= 1
        for j in range(i, self.n_members):
            self._members[j] = self._members[j + 1]
        for j in range(self.n_members):
            is_left = is_left or self._members[j] == k
        if not is_left:
            a.beta[k] = 0   # exactly, without the rounding of sums of weights


def _restore(size, generator, members, n_accesses):
    cdef Cache cache = Cache(size, generator)
    cache._members = np.array(members)  # writable: a pickle may be memory-mapped
    cache.n_members = len(members)
    cache.n_accesses = n_accesses
    return cache
