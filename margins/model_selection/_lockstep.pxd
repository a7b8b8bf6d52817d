# cython: language_level=3
"""Many models trained in one pass."""

from libc.stdint cimport int32_t, int64_t
from margins._sparse cimport Rows
from margins.model_selection._model_columns cimport ModelColumns


cdef class Lockstep(ModelColumns):
    cdef Py_ssize_t _n_together(self, Py_ssize_t m, int64_t n_epochs) noexcept
    cdef int64_t _short_epochs(
        self, const int32_t[::1] order, int64_t n_epochs, Py_ssize_t most
    ) except -1 nogil
    cdef void _begin_epoch(self) noexcept nogil
    cdef bint _has_ended(self, double n_epochs) noexcept nogil
    cdef bint _is_over(self, Py_ssize_t model, double n_epochs) noexcept nogil
    cdef void _count_weight(self, double weight) noexcept nogil
    cdef void _read_row(self, Rows rows, Py_ssize_t k) noexcept nogil
    cdef int _update_columns(self, Py_ssize_t k) except -1 nogil
    cdef void _notify_averagings(self, Py_ssize_t k, Py_ssize_t column) noexcept nogil
