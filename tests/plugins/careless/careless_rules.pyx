# cython: language_level=3, cdivision=True
"""Rules that go wrong, as only compiled ones can."""
from margins._update cimport (
    Condition, Rules, Shrink, State, Step, Thresholds, Update, Sample, require_abi,
)

margins_abi = require_abi()


cdef class WrongRoot(Condition):
    """Forgets the product in its closed form."""

    def __repr__(self):
        return "WrongRoot()"

    cdef double threshold(self, const State* state) noexcept nogil:
        return 40

    cdef double repetitions(self, const State* state, const Sample* sample) noexcept nogil:
        return 40 / sample.sqnorm


cdef class Forgetful(Condition):
    """Keeps a state of its own, which no other run should see."""

    cdef double n_asked

    def __repr__(self):
        return "Forgetful()"

    cdef double threshold(self, const State* state) noexcept nogil:
        self.n_asked += 1
        return self.n_asked


cdef class TakesBackTooEarly(Condition):
    """Unlearns what it has just learned."""

    unlearns = True

    def __repr__(self):
        return "TakesBackTooEarly()"

    cdef void thresholds(self, const State* state, Thresholds* out) noexcept nogil:
        out.learn[0] = out.learn[1] = 3
        out.unlearn[0] = out.unlearn[1] = 3


cdef class Unbounded(Update):
    """Adds a sample whatever its dual variable may become."""

    def __repr__(self):
        return "Unbounded()"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, 2, 1


cdef class Idle(Update):
    """Counts updates that change nothing."""

    def __repr__(self):
        return "Idle()"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 1, 0, 1


cdef class HalfCounted(Update):
    """Counts half an update."""

    def __repr__(self):
        return "HalfCounted()"

    cdef void learn(self, Rules rules, const State* state, const Sample* sample, Step* out) noexcept nogil:
        out.shrink, out.repetitions = 1, 0.5
        out.add = min(1, sample.upper - sample.dual)


cdef class WrongRepeat(Shrink):
    """Shrinks once, however often it is repeated."""

    def __repr__(self):
        return "WrongRepeat()"

    cdef double factor(self, const State* state) noexcept nogil:
        return 0.5

    cdef void repeat(self, const State* state, double repetitions, Step* out) noexcept nogil:
        out.shrink, out.add, out.repetitions = 0.5, repetitions, repetitions
