# cython: language_level=3
from margins._update cimport Update


cdef class Additive(Update):
    cdef readonly double eta
    cdef readonly double most
