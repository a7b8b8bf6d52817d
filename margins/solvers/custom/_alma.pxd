"""ALMA's loop."""

from margins._update cimport SampleLoop


cdef class AlmaLoop(SampleLoop):
    cdef const double[::1] norms
    cdef double p, eps
    cdef double[::1] v, u, beta, scalars
