# cython: language_level=3
"""The columns of models that are trained in lockstep."""

from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport Rows
from margins._update cimport Averaging, SampleLoop, WeightVector

cdef enum:
    BLOCK = 8                  # columns are computed in blocks of this size
    SAMPLES_PER_CHUNK = 4096   # averagings reserve memory for this many updates


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """The least multiple of BLOCK that is at least n."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


cdef class ModelColumns(SampleLoop):
    cdef Rows rows
    cdef readonly Py_ssize_t n_columns
    cdef const double[::1] codes
    cdef const double[::1] sqnorms
    cdef const double[::1] weight        # by which updates and votes are multiplied; None: 1
    cdef Py_ssize_t longest              # elements of the longest row
    cdef bint has_gain
    # By column of the weight matrix. Idle ones are computed with the others; their thresholds are -inf.
    cdef double[:, ::1] v
    cdef double[::1] label_sum, sq_intercept_scaling, code, negative, positive, gain
    cdef int32_t[:, ::1] counts          # updates by each sample; None: not needed
    cdef Py_ssize_t[::1] model
    # By model.
    cdef Py_ssize_t[::1] child
    cdef double[::1] bound, max_iter
    cdef int64_t[::1] n_updates, n_updates_before   # now, and before this epoch
    cdef int64_t[::1] rejected, rejected_before
    cdef int64_t[::1] since, rejected_since          # samples and rejections up to the last update
    # Total weights since the last update: of samples, and of those that are right; and before this epoch.
    cdef double[::1] seen, seen_before, right, right_before
    cdef list problems, averagings
    cdef Py_ssize_t n_averagings
    cdef void** averaging_of               # (model, index) -> Averaging or NULL
    cdef signed char[::1] is_survivor       # True for a LongestSurvivor
    cdef void** data_of
    # By sample.
    cdef int64_t n_processed             # samples so far, within the current chunk too
    cdef double[::1] dots, c
    cdef int64_t[::1] wrong
    cdef double[::1] values
    cdef Py_ssize_t[::1] offsets
    cdef const double* x
    cdef Py_ssize_t n_stored
    cdef WeightVector hypothesis
    cdef void _count(self, Py_ssize_t i, Averaging averaging, bint processing) noexcept nogil
    cdef void _gather(self, Py_ssize_t column, WeightVector a) noexcept nogil
    cdef void _copy_column(self, Py_ssize_t column, Py_ssize_t to) noexcept nogil
    cdef int _split(self, Py_ssize_t column) except -1
