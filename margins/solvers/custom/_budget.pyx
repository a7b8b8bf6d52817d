"""Perceptrons that keep few patterns: a cache of those that make up the weight vector.

The problem: a perceptron with a kernel, or one that must say which patterns it is made of, grows with
every mistake. Here a = sum of the patterns in a cache, and what is added may be removed again:

    p = a.y_k;  if p <= beta:
        if the cache is full, remove one member: a <- a - y_i
        a <- a + y_k, a new member
        if the cache is unbounded, distil: while some member has y_i.(a - y_i) > beta,
            remove the one that has most

A member that is removed while distilling would be right, by the margin beta, also if it had never been
added. Then at most (R^2 + 2 beta) / gamma^2 members are ever left: adding one lengthens |a|^2 by at most
2 beta + N_k, its removal shortens it by more than that, so |a|^2 <= n (R^2 + 2 beta) for n members, while
|a| >= n gamma.

A full cache loses the member with the largest y_i.(a - y_i), the oldest of equals, or a random one. A
pattern that is added twice is two members. The products with all members are computed anew for every
removal: over the rows of a kernel each is one number that is there already.

Source: Crammer, Kandola & Singer (2003), Figures 1 and 2; Cavallanti, Cesa-Bianchi & Gentile (2007), the
randomized budget perceptron.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from margins._update cimport Patterns, Rules, Step, Thresholds, Visit, WeightVector, apply_step, product

import numpy as np

# By how much y_i.(a - y_i) must exceed beta, in units of |y_i|^2: of a cache with one member it is 0, but
# for rounding.
cdef double ROUNDING = 1e-12
cdef Py_ssize_t PRODUCTS_PER_SIGNAL_CHECK = 1 << 18  # a few milliseconds of work


cdef class Cache:
    """What a perceptron keeps; presents patterns as `margins._activeset.ActiveSets` does.

    Parameters
    ----------
    size : int
        The most members; 0: as many as there are, distilled.
    generator : numpy.random.Generator, optional
        Given: a full cache loses a random member, the i-th, ``i = floor(u size)``, with one u for every
        presentation, whether it is needed or not: so the way a stream is cut into chunks does not matter.
    """

    def __init__(self, Py_ssize_t size=0, generator=None):
        if size < 0:
            raise ValueError(f"size of Cache must be an integer in [0, inf). Got {size}.")
        self.size = size
        self._generator = generator
        self._members = np.empty(0, dtype=np.int32)

    def __reduce__(self):
        return _restore, (self.size, self._generator, self.members, self.n_visits)

    @property
    def members(self):
        """The patterns in the cache, the oldest first: ndarray of int32, shape (n_members,)."""
        return np.array(self._members[:self.n_members])

    def begin_with(self, WeightVector a not None, Py_ssize_t n):
        """Make patterns 0, ..., n - 1 the members, of which `a` is the sum already."""
        cdef Py_ssize_t k
        self._members = np.arange(n, dtype=np.int32)
        self.n_members = n
        for k in range(n):
            a.beta[k] = 1 / a.state.scale

    def full_epoch(self, Patterns patterns not None, WeightVector a not None, Rules rules not None,
                   const int32_t[::1] order not None, Rules full_pass_rules=None, readout=None):
        """Present every pattern of `order`.

        Parameters
        ----------
        rules : Rules
            Whose thresholds are beta, and whose updates add one whole pattern.
        full_pass_rules, readout : None
            For `ActiveSets`; not here.

        Returns
        -------
        int
            How many patterns were added.

        Raises
        ------
        ValueError
            If the weight vector does not keep dual variables.
        KeyboardInterrupt
            Ctrl-C is honoured every few milliseconds.
        """
        cdef Py_ssize_t i, n_added = 0, n = order.shape[0], work = 0
        cdef const double[::1] chances = None
        if not a.keeps_dual:
            raise ValueError("A Cache needs dual variables, which this weight vector does not keep.")
        members = np.empty(self.n_members + n, dtype=np.int32)  # nothing can be allocated below
        members[:self.n_members] = self.members
        self._members = members
        chances = np.zeros(n) if self._generator is None else self._generator.random(n)
        with nogil:
            for i in range(n):
                work += 1
                if self._present(patterns, a, rules, order[i], chances[i]):
                    n_added += 1
                    work += self.n_members
                if work >= PRODUCTS_PER_SIGNAL_CHECK:
                    work = 0
                    with gil:
                        PyErr_CheckSignals()
        patterns.rows.check()
        self.n_visits += n
        return n_added

    cdef bint _present(
        self, Patterns patterns, WeightVector a, Rules rules, Py_ssize_t k, double chance
    ) noexcept nogil:
        """Present one pattern; True: it was added."""
        cdef Thresholds thresholds
        cdef Py_ssize_t i
        cdef double margin, least
        cdef double p = product(patterns, a, k)
        rules.condition.thresholds(&a.state, &thresholds)
        if not p <= thresholds.learn[patterns.labels[k] > 0]:
            return False
        if self.size and self.n_members >= self.size:
            if self._generator is None:
                i = self._easiest(patterns, a, &margin)
            else:
                i = min(<Py_ssize_t> (chance * self.n_members), self.n_members - 1)
            self._remove(patterns, a, i)
        if not self._add(patterns, a, rules, k, thresholds.learn[patterns.labels[k] > 0]):
            return False
        while not self.size and self.n_members:
            i = self._easiest(patterns, a, &margin)
            # Not if equal: it would be misclassified at once (with beta = 0 the first one, always).
            k = self._members[i]
            least = thresholds.learn[patterns.labels[k] > 0]
            if not margin > least + ROUNDING * (patterns.sqnorms[k] + patterns.extension[k]):
                break
            self._remove(patterns, a, i)
        return True

    cdef double _margin_without(self, Patterns patterns, WeightVector a, Py_ssize_t i) noexcept nogil:
        """y_i.(a - y_i) for the i-th member."""
        cdef Py_ssize_t k = self._members[i]
        return product(patterns, a, k) - (patterns.sqnorms[k] + patterns.extension[k])

    cdef Py_ssize_t _easiest(self, Patterns patterns, WeightVector a, double* margin) noexcept nogil:
        """The member with the largest y_i.(a - y_i), which is left in `margin`; the oldest of equals."""
        cdef Py_ssize_t i, best = 0
        cdef double one
        margin[0] = -INFINITY
        for i in range(self.n_members):
            one = self._margin_without(patterns, a, i)
            if one > margin[0]:
                margin[0], best = one, i
        return best

    cdef bint _add(
        self, Patterns patterns, WeightVector a, Rules rules, Py_ssize_t k, double threshold
    ) noexcept nogil:
        cdef Visit visit
        cdef Step step
        _look(patterns, a, k, &visit)
        visit.threshold = threshold
        rules.update.learn(rules, &a.state, &visit, &step)
        if step.repetitions <= 0:
            return False
        apply_step(patterns, a, &visit, &step)
        self._members[self.n_members] = <int32_t> k
        self.n_members += 1
        return True

    cdef void _remove(self, Patterns patterns, WeightVector a, Py_ssize_t i) noexcept nogil:
        cdef Visit visit
        cdef Step step
        cdef Py_ssize_t j
        _look(patterns, a, self._members[i], &visit)
        step.shrink, step.add, step.repetitions = 1, -1, 1
        apply_step(patterns, a, &visit, &step)
        self.n_members -= 1
        for j in range(i, self.n_members):
            self._members[j] = self._members[j + 1]


def _restore(size, generator, members, n_visits):
    cdef Cache cache = Cache(size, generator)
    cache._members = members
    cache.n_members = len(members)
    cache.n_visits = n_visits
    return cache


cdef inline void _look(Patterns patterns, WeightVector a, Py_ssize_t k, Visit* out) noexcept nogil:
    out.k = k
    out.positive = patterns.labels[k] > 0
    out.product = product(patterns, a, k)
    out.sqnorm = patterns.sqnorms[k] + patterns.extension[k]
    out.upper = patterns.upper[k]
    out.dual = a.state.scale * a.beta[k]
