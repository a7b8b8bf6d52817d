# cython: language_level=3
from margins.rules._base cimport Shrink


cdef class ConstantDecay(Shrink):
    cdef readonly double lam


cdef class HarmonicDecay(Shrink):
    pass
