"""Updates by several samples at once."""

from libc.stdint cimport int32_t
from margins._update cimport SampleLoop


cdef class MiniBatches(SampleLoop):
    cdef readonly Py_ssize_t size
    cdef object _remaining          # ndarray of int32: samples of the last epoch, too few for a batch
    cdef int32_t[::1] wrong         # the misclassified samples of a batch
