# cython: language_level=3
"""Many models in one pass."""

from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport Rows
from margins._update cimport Readout, SampleLoop, WeightVector


cdef class Lockstep(SampleLoop):
    cdef Rows rows
    cdef readonly Py_ssize_t n_lanes
    cdef const double[::1] codes
    cdef const double[::1] sqnorms
    cdef bint has_gain
    # By lane. Idle ones are computed with the others, and have thresholds of -inf.
    cdef double[:, ::1] v
    cdef double[::1] label_sum, sqrho, code, negative, positive, gain
    cdef int32_t[:, ::1] counts          # how often each pattern has been added; None: nobody asks
    cdef Py_ssize_t[::1] model
    # By model.
    cdef Py_ssize_t[::1] follower
    cdef double[::1] bound, max_iter
    cdef int64_t[::1] n_updates, n_updates_before   # now, and before this epoch
    cdef int64_t[::1] refused, refused_before
    cdef int64_t[::1] since, refused_since          # samples and refusals up to the last update
    cdef list problems, readouts
    cdef Py_ssize_t n_readouts
    cdef void** readout_of               # (model, index) -> Readout or NULL
    cdef signed char[::1] survives       # is it a LongestSurvivor?
    cdef void** patterns_of
    # By sample.
    cdef int64_t n_processed             # samples so far, that of a chunk included that is not at its end
    cdef double[::1] dots, c
    cdef int64_t[::1] wrong
    cdef double[::1] values
    cdef Py_ssize_t[::1] offsets
    cdef const double* x
    cdef Py_ssize_t n_stored
    cdef WeightVector hypothesis
    cdef void _look(self, Rows rows, Py_ssize_t k) noexcept nogil
    cdef int _learn(self, Py_ssize_t k) except -1 nogil
    cdef void _tell_readouts(self, Py_ssize_t k, Py_ssize_t lane) noexcept nogil
    cdef void _count(self, Py_ssize_t i, Readout readout, bint processing) noexcept nogil
    cdef void _gather(self, Py_ssize_t lane, WeightVector a) noexcept nogil
    cdef void _move(self, Py_ssize_t lane, Py_ssize_t to) noexcept nogil
    cdef int _fork(self, Py_ssize_t lane) except -1
