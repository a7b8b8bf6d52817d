# cython: language_level=3
from margins.rules._base cimport Update


cdef class Additive(Update):
    cdef readonly double eta
    cdef readonly double most
