"""Averagings, which combine or select the hypotheses of a run.

Every update ends one hypothesis and starts the next; the first is the weight vector before any update. The vote
of a hypothesis is the number of samples that were classified correctly while it was current, or their total
weight if weights multiply updates. The state of an averaging is all that its model needs, so it can be pickled
between two chunks of a stream.

Source: Khardon & Wachman (2007), section 2; Freund & Schapire (1999); Gallant (1990).
"""

from libc.math cimport INFINITY, floor
from libc.stdint cimport int32_t
from margins._sparse cimport axpy
from margins.rules._base cimport BinaryData, Averaging, Step, Sample, WeightVector, ordinary_product
from margins.rules._weight_vector cimport weight_of

import numpy as np


cdef void _copy(WeightVector source, WeightVector target) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(source.v.shape[0]):
        target.v[j] = source.v[j]
    if source.beta is not None:
        for j in range(source.beta.shape[0]):
            target.beta[j] = source.beta[j]
    target.state = source.state


cdef class LongestSurvivor(Averaging):
    """The hypothesis with the largest vote; the first one if several are equal.

    Parameters
    ----------
    start : WeightVector
        The hypothesis before the first update.

    Source: Khardon & Wachman (2007), Figure 2; Gallant (1990), the pocket algorithm.

    See Also
    --------
    Pocket : The pocket with ratchet.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("perceptron")(averaging='longest', random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, WeightVector start not None):
        self.kept = start.copy()
        self.longest = 0

    def __reduce__(self):
        return type(self), (self.kept,), (self.longest, self.n_right, self.n_accesses)

    def __setstate__(self, state):
        self.longest, self.n_right, self.n_accesses = state

    def for_stream(self) -> LongestSurvivor:
        cdef LongestSurvivor result = LongestSurvivor(self.kept.without_dual())
        result.longest, result.n_right, result.n_accesses = self.longest, self.n_right, self.n_accesses
        return result

    cdef bint _prefers(self, BinaryData data, WeightVector a) noexcept nogil:
        """Return True if the current hypothesis is better than the one kept, and then record its vote."""
        if self.n_right > self.longest:
            self.longest = self.n_right
            return True
        return False

    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil:
        if self._prefers(data, a):
            _copy(a, self.kept)

    def hypothesis(self, WeightVector a not None, BinaryData data not None) -> WeightVector:
        cdef double longest = self.longest
        cdef bint better = self._prefers(data, a)
        self.longest = longest  # not recorded: the current hypothesis has not ended
        return a if better else self.kept


cdef class Pocket(LongestSurvivor):
    """The pocket with ratchet: a longer survivor is kept only if it also classifies more samples correctly.

    When the run of the current hypothesis becomes longer than the run of the hypothesis in the pocket, it is
    tried on all samples. If it classifies more of them correctly, it replaces the hypothesis in the pocket, and
    its run so far becomes the run to exceed. A stream keeps no samples to count over, so there it works as
    `LongestSurvivor`, the pocket without ratchet.

    Parameters
    ----------
    start : WeightVector
    theta : float
        The score of a sample is ``l_k (a.y_k) - theta``.

    Source: Gallant (1990), the pocket algorithm with ratchet.

    See Also
    --------
    LongestSurvivor : The pocket without ratchet.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("perceptron")(averaging='pocket', random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, WeightVector start not None, double theta=0):
        LongestSurvivor.__init__(self, start)
        self.theta = theta
        self.most_right = -1

    def __reduce__(self):
        state = (self.longest, self.n_right, self.n_accesses, self.most_right, self.is_perfect)
        return type(self), (self.kept, self.theta), state

    def __setstate__(self, state):
        self.longest, self.n_right, self.n_accesses, self.most_right, self.is_perfect = state

    cdef bint _prefers(self, BinaryData data, WeightVector a) noexcept nogil:
        cdef Py_ssize_t k
        cdef double weight, n_right = 0, smallest = INFINITY, largest = 0
        cdef bint is_right, has_wrong = False
        if not self.n_right > self.longest or self.is_perfect:
            return False
        for k in range(data.labels.shape[0]):
            is_right = ordinary_product(data, a, k) > data.labels[k] * self.theta
            weight = weight_of(data, k)
            smallest, largest = min(smallest, weight), max(largest, weight)
            n_right += is_right * weight
            has_wrong = has_wrong or not is_right
        if not n_right > self.most_right:
            return False
        # The hypothesis was tried when its vote became larger by one sample, and not again since then. We do
        # not know at which sample; with weights that differ we use its vote at the end.
        self.longest = self.longest + largest if smallest == largest else self.n_right
        self.most_right, self.is_perfect = n_right, not has_wrong
        return True

    def hypothesis(self, WeightVector a not None, BinaryData data not None) -> WeightVector:
        cdef double most_right = self.most_right
        cdef bint is_perfect = self.is_perfect
        result = LongestSurvivor.hypothesis(self, a, data)
        self.most_right, self.is_perfect = most_right, is_perfect
        return result


cdef class Average(Averaging):
    """The mean of all hypotheses, weighted by their votes or by the numbers of samples processed.

    With B the sum of the weights so far, the weighted sum of the hypotheses is ``B a - lag``. It takes one
    more addition of a sample per update. Updates must not shrink the weight vector.

    Parameters
    ----------
    start : WeightVector
        The hypothesis before the first update.
    weighting : {"votes", "accesses"}
        "accesses": the number of all samples processed while a hypothesis was current.

    Source: Freund & Schapire (1999); Khardon & Wachman (2007), section 2.

    See Also
    --------
    SuffixAverage : The mean of late hypotheses.
    MistakeHistory : All hypotheses.

    Examples
    --------
    >>> import margins
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> margins.get("perceptron")(averaging='averaged', random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, WeightVector start not None, str weighting="votes"):
        if weighting not in ("votes", "accesses"):
            raise ValueError(f"weighting of Average must be one of 'votes', 'accesses'. Got {weighting!r}.")
        self.weighting = weighting
        self.by_accesses = weighting == "accesses"
        self.lag = start.copy()
        self.lag.clear()

    def __reduce__(self):
        # The state has the only copy of the vector.
        state = self.lag, self.total, self.n_right, self.n_accesses
        return type(self), (WeightVector(1), self.weighting), state

    def __setstate__(self, state):
        self.lag, self.total, self.n_right, self.n_accesses = state

    def for_stream(self) -> Average:
        cdef Average result = Average(self.lag.without_dual(), self.weighting)
        result.lag, result.total = self.lag.without_dual(), self.total
        result.n_right, result.n_accesses = self.n_right, self.n_accesses
        return result

    cdef double _weight(self) noexcept nogil:
        return self.n_accesses if self.by_accesses else self.n_right

    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil:
        cdef double c
        self.total += self._weight()
        c = self.total * step.add
        if self.lag.beta is not None:
            self.lag.beta[sample.k] += c
        c = c * data.labels[sample.k]
        axpy(data.rows, sample.k, c, &self.lag.v[0])
        self.lag.state.label_sum += c

    def hypothesis(self, WeightVector a not None, BinaryData data not None) -> WeightVector:
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


cdef class SuffixAverage(Averaging):
    """The mean of late hypotheses: after the first samples, the current hypothesis at every n-th sample.

    The last hypothesis overfits the last samples, and early hypotheses fit none. The mean of a few late
    hypotheses is nearly as good as the mean of all. It takes one addition of a weight vector for each of them,
    instead of one more addition of a sample per update, and updates may shrink. The dual variables are not
    averaged: they belong to the last hypothesis.

    Parameters
    ----------
    start : WeightVector
        The hypothesis before the first update.
    begin : float
        Number of samples processed before the first hypothesis is taken.
    every : float
        Number of samples between two hypotheses that are taken; at least 1.

    Source: Rakhlin, Shamir & Sridharan (2012), Making gradient descent optimal for strongly convex
    stochastic optimization: suffix averaging.

    See Also
    --------
    Average : The mean of all hypotheses.

    Examples
    --------
    >>> from margins._update import WeightVector
    >>> from margins.rules import SuffixAverage
    >>> averaging = SuffixAverage(WeightVector(2), begin=100, every=10)
    >>> averaging.begin, averaging.every
    (100.0, 10.0)
    """

    def __init__(self, WeightVector start not None, double begin, double every):
        if not begin >= 0:
            raise ValueError(f"begin of SuffixAverage must be in [0, inf). Got {begin!r}.")
        if not every >= 1:
            raise ValueError(f"every of SuffixAverage must be in [1, inf). Got {every!r}.")
        self.begin, self.every = begin, every
        self.total = WeightVector(start.v.shape[0])

    def __reduce__(self):
        state = self.total, self.n_past_accesses, self.n_taken, self.n_right, self.n_accesses
        return type(self), (WeightVector(1), self.begin, self.every), state

    def __setstate__(self, state):
        self.total, self.n_past_accesses, self.n_taken, self.n_right, self.n_accesses = state

    cdef double _due(self) noexcept nogil:
        """Return the number of times that the current hypothesis must be added."""
        cdef double past = self.n_past_accesses + self.n_accesses - self.begin
        return floor(past / self.every) - self.n_taken if past > 0 else 0

    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil:
        cdef double due = self._due(), factor
        cdef Py_ssize_t j
        if due > 0:
            factor = due * a.state.scale
            for j in range(a.v.shape[0]):
                self.total.v[j] += factor * a.v[j]
            self.total.state.label_sum += factor * a.state.label_sum
            self.n_taken += due
        self.n_past_accesses += self.n_accesses

    def hypothesis(self, WeightVector a not None, BinaryData data not None) -> WeightVector:
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


cdef class MistakeHistory(Averaging):
    """All hypotheses, as the list of mistakes; every update must add one sample once.

    Attributes
    ----------
    n_mistakes : int
    mistakes : ndarray of int32, shape (n_mistakes,)
        The samples that were added, in order.
    votes : ndarray of float64, shape (n_mistakes + 1,)
        The votes of all hypotheses, from before the first update to the current one.

    Source: Freund & Schapire (1999), the voted perceptron.

    See Also
    --------
    Average : One weight vector that approximates the votes.

    Examples
    --------
    >>> from margins.rules import MistakeHistory
    >>> history = MistakeHistory()
    >>> history.mistakes.tolist(), history.votes.tolist()
    ([], [0.0])
    """

    def __init__(self):
        self._samples = np.empty(0, dtype=np.int32)
        self._votes = np.empty(0)

    def reserve(self, Py_ssize_t n_updates) -> None:
        cdef Py_ssize_t needed = self.n_mistakes + n_updates
        if needed > self._samples.shape[0]:
            needed += needed // 2
            data, votes = np.empty(needed, dtype=np.int32), np.empty(needed)
            data[:self.n_mistakes] = self.mistakes
            votes[:self.n_mistakes] = np.asarray(self._votes)[:self.n_mistakes]
            self._samples, self._votes = data, votes

    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil:
        self._samples[self.n_mistakes] = <int32_t> sample.k
        self._votes[self.n_mistakes] = self.n_right
        self.n_mistakes += 1

    @property
    def mistakes(self) -> NDArray[np.int32]:
        return np.array(self._samples[:self.n_mistakes])

    @property
    def votes(self) -> NDArray[np.float64]:
        return np.append(np.asarray(self._votes)[:self.n_mistakes], self.n_right)

    def forget(self) -> None:
        """Start a new list with the current hypothesis, which keeps its vote."""
        self.n_mistakes = 0

    def for_stream(self) -> MistakeHistory:
        result = MistakeHistory()
        result.n_right, result.n_accesses = self.n_right, self.n_accesses
        return result

    def __reduce__(self):
        return type(self), (), (self.mistakes, self.votes, self.n_right, self.n_accesses)

    def __setstate__(self, state):
        mistakes, votes, self.n_right, self.n_accesses = state
        self.reserve(len(mistakes))
        np.asarray(self._samples)[:len(mistakes)] = mistakes
        np.asarray(self._votes)[:len(mistakes)] = votes[:len(mistakes)]
        self.n_mistakes = len(mistakes)
