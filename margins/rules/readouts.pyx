"""Readouts: which of a run's hypotheses become the model?

Every update ends one hypothesis and begins another; the first is the weight vector before any update.
The vote of a hypothesis is the number of presentations that it got right. What a readout keeps of the
past is all that its model needs, so it may be pickled between two chunks of a stream.

Source: Khardon & Wachman (2007), section 2; Freund & Schapire (1999); Gallant (1990).
"""

from libc.math cimport floor
from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport axpy
from margins.rules._base cimport Patterns, Readout, Step, Visit, WeightVector, ordinary_product

import numpy as np


cdef void _copy(WeightVector source, WeightVector target) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(source.v.shape[0]):
        target.v[j] = source.v[j]
    if source.beta is not None:
        for j in range(source.beta.shape[0]):
            target.beta[j] = source.beta[j]
    target.state = source.state


cdef class LongestSurvivor(Readout):
    """The hypothesis with the largest vote, the first of equals.

    Parameters
    ----------
    start : WeightVector
        The hypothesis before the first update.

    Source: Khardon & Wachman (2007), Figure 2; Gallant (1990), the pocket algorithm.
    """

    def __init__(self, WeightVector start not None):
        self.kept = start.copy()
        self.longest = 0

    def __reduce__(self):
        return type(self), (self.kept,), (self.longest, self.n_right, self.n_presented)

    def __setstate__(self, state):
        self.longest, self.n_right, self.n_presented = state

    cdef bint _prefers(self, Patterns patterns, WeightVector a) noexcept nogil:
        """Is the hypothesis in force better than the one kept? If so, it is about to be kept."""
        if self.n_right > self.longest:
            self.longest = self.n_right
            return True
        return False

    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Visit* visit, const Step* step
    ) noexcept nogil:
        if self._prefers(patterns, a):
            _copy(a, self.kept)

    def hypothesis(self, WeightVector a not None, Patterns patterns not None):
        cdef double longest = self.longest
        cdef bint better = self._prefers(patterns, a)
        self.longest = longest  # the hypothesis in force has not ended: it was only asked
        return a if better else self.kept


cdef class Pocket(LongestSurvivor):
    """The pocket with ratchet: a longer survivor is kept only if it also gets more patterns right.

    When the run of the hypothesis in force exceeds the run of the one in the pocket, it is tried on all
    patterns. It replaces the one in the pocket if it classifies more of them correctly, and its run, as
    long as it is then, becomes the one to exceed.

    Parameters
    ----------
    start : WeightVector
    theta : float
        The score of a pattern is ``l_k (a.y_k) - theta``.

    Source: Gallant (1990), the pocket algorithm with ratchet.
    """

    def __init__(self, WeightVector start not None, double theta=0):
        LongestSurvivor.__init__(self, start)
        self.theta = theta
        self.most_right = -1

    def __reduce__(self):
        state = (self.longest, self.n_right, self.n_presented, self.most_right)
        return type(self), (self.kept, self.theta), state

    def __setstate__(self, state):
        self.longest, self.n_right, self.n_presented, self.most_right = state

    cdef Py_ssize_t _count_right(self, Patterns patterns, WeightVector a) noexcept nogil:
        cdef Py_ssize_t k, n_right = 0
        for k in range(patterns.labels.shape[0]):
            n_right += ordinary_product(patterns, a, k) > patterns.labels[k] * self.theta
        return n_right

    cdef bint _prefers(self, Patterns patterns, WeightVector a) noexcept nogil:
        cdef Py_ssize_t n_right
        if self.n_right > self.longest and self.most_right < patterns.labels.shape[0]:
            n_right = self._count_right(patterns, a)
            if n_right > self.most_right:
                # It was tried as soon as it survived longer, and was never better than itself again.
                self.longest += 1
                self.most_right = n_right
                return True
        return False

    def hypothesis(self, WeightVector a not None, Patterns patterns not None):
        cdef Py_ssize_t most_right = self.most_right
        result = LongestSurvivor.hypothesis(self, a, patterns)
        self.most_right = most_right
        return result


cdef class Average(Readout):
    """The mean of all hypotheses, weighted by their votes or by all their presentations.

    With B the sum of the weights so far, the weighted sum of the hypotheses is ``B a - lag``: it costs
    one more addition of a pattern an update. Updates must not shrink.

    Parameters
    ----------
    start : WeightVector
        The hypothesis before the first update.
    weighting : "votes" or "presentations"

    Source: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.
    """

    def __init__(self, WeightVector start not None, str weighting="votes"):
        if weighting not in ("votes", "presentations"):
            raise ValueError(
                f"weighting of Average must be one of 'votes', 'presentations'. Got {weighting!r}."
            )
        self.weighting = weighting
        self.by_presentations = weighting == "presentations"
        self.lag = start.copy()
        self.lag.clear()

    def __reduce__(self):
        return type(self), (self.lag, self.weighting), (self.lag, self.total, self.n_right, self.n_presented)

    def __setstate__(self, state):
        self.lag, self.total, self.n_right, self.n_presented = state

    cdef double _weight(self) noexcept nogil:
        return self.n_presented if self.by_presentations else self.n_right

    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Visit* visit, const Step* step
    ) noexcept nogil:
        cdef double c
        self.total += self._weight()
        c = self.total * step.add
        if self.lag.beta is not None:
            self.lag.beta[visit.k] += c
        c = c * patterns.labels[visit.k]
        axpy(patterns.rows, visit.k, c, &self.lag.v[0])
        self.lag.state.label_sum += c

    def hypothesis(self, WeightVector a not None, Patterns patterns not None):
        cdef double total = self.total + self._weight()
        cdef WeightVector mean
        cdef Py_ssize_t j
        if total == 0:
            return a
        mean = a.copy()
        for j in range(mean.v.shape[0]):
            mean.v[j] = (total * mean.v[j] - self.lag.v[j]) / total
        if mean.beta is not None:
            for j in range(mean.beta.shape[0]):
                mean.beta[j] = (total * mean.beta[j] - self.lag.beta[j]) / total
        mean.state.label_sum = (total * mean.state.label_sum - self.lag.state.label_sum) / total
        return mean


cdef class SuffixAverage(Readout):
    """The mean of late hypotheses: those in force at every n-th presentation, after the first ones.

    The last hypothesis fits the last patterns too well, and early ones fit none. A few of the late ones
    tell nearly as much as all, and cost an addition of weights each, not one more of a pattern at every
    update; updates may shrink. The dual variables are not averaged: they are those of the last one.

    Parameters
    ----------
    start : WeightVector
        The hypothesis before the first update.
    begin : float
        How many presentations come before those that count.
    every : float
        From one hypothesis that is taken to the next; at least 1.

    Source: Rakhlin, Shamir & Sridharan (2012), Making gradient descent optimal for strongly convex
    stochastic optimization: suffix averaging.
    """

    def __init__(self, WeightVector start not None, double begin, double every):
        if not begin >= 0:
            raise ValueError(f"begin of SuffixAverage must be in [0, inf). Got {begin!r}.")
        if not every >= 1:
            raise ValueError(f"every of SuffixAverage must be in [1, inf). Got {every!r}.")
        self.begin, self.every = begin, every
        self.total = WeightVector(start.v.shape[0])

    def __reduce__(self):
        state = self.total, self.presented, self.n_taken, self.n_right, self.n_presented
        return type(self), (self.total, self.begin, self.every), state

    def __setstate__(self, state):
        self.total, self.presented, self.n_taken, self.n_right, self.n_presented = state

    cdef double _due(self) noexcept nogil:
        """How many of the last presentations take the hypothesis in force."""
        cdef double past = self.presented + self.n_presented - self.begin
        return floor(past / self.every) - self.n_taken if past > 0 else 0

    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Visit* visit, const Step* step
    ) noexcept nogil:
        cdef double due = self._due(), factor
        cdef Py_ssize_t j
        if due > 0:
            factor = due * a.state.scale
            for j in range(a.v.shape[0]):
                self.total.v[j] += factor * a.v[j]
            self.total.state.label_sum += factor * a.state.label_sum
            self.n_taken += due
        self.presented += self.n_presented

    def hypothesis(self, WeightVector a not None, Patterns patterns not None):
        cdef double due = self._due(), n = self.n_taken + due
        cdef WeightVector mean
        cdef Py_ssize_t j
        if n == 0:
            return a
        mean = self.total.copy()
        for j in range(mean.v.shape[0]):
            mean.v[j] = (mean.v[j] + due * a.state.scale * a.v[j]) / n
        mean.state.label_sum = (mean.state.label_sum + due * a.state.scale * a.state.label_sum) / n
        if a.beta is not None:
            mean.beta = a.dual
        return mean


cdef class Journal(Readout):
    """All hypotheses, as the list of the mistakes between them; updates must add patterns singly.

    Attributes
    ----------
    n_mistakes : int
    mistakes : ndarray of int32, shape (n_mistakes,)
        The patterns that were added, in order.
    votes : ndarray of int64, shape (n_mistakes + 1,)
        The votes of all hypotheses, from the one before the first update to the one in force.

    Source: Freund & Schapire (1999), the voted perceptron.
    """

    def __init__(self):
        self._patterns = np.empty(0, dtype=np.int32)
        self._votes = np.empty(0, dtype=np.int64)

    def reserve(self, Py_ssize_t n_updates):
        cdef Py_ssize_t needed = self.n_mistakes + n_updates
        if needed > self._patterns.shape[0]:
            needed += needed // 2
            patterns, votes = np.empty(needed, dtype=np.int32), np.empty(needed, dtype=np.int64)
            patterns[:self.n_mistakes] = self.mistakes
            votes[:self.n_mistakes] = np.asarray(self._votes)[:self.n_mistakes]
            self._patterns, self._votes = patterns, votes

    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Visit* visit, const Step* step
    ) noexcept nogil:
        self._patterns[self.n_mistakes] = <int32_t> visit.k
        self._votes[self.n_mistakes] = <int64_t> self.n_right
        self.n_mistakes += 1

    @property
    def mistakes(self):
        return np.array(self._patterns[:self.n_mistakes])

    @property
    def votes(self):
        return np.append(np.asarray(self._votes)[:self.n_mistakes], np.int64(self.n_right))

    def forget(self):
        """Begin a new list with the hypothesis in force; its vote so far stays."""
        self.n_mistakes = 0

    def __reduce__(self):
        return type(self), (), (self.mistakes, self.votes, self.n_right, self.n_presented)

    def __setstate__(self, state):
        mistakes, votes, self.n_right, self.n_presented = state
        self.reserve(len(mistakes))
        np.asarray(self._patterns)[:len(mistakes)] = mistakes
        np.asarray(self._votes)[:len(mistakes)] = votes[:len(mistakes)]
        self.n_mistakes = len(mistakes)
