# cython: language_level=3
from margins.rules._base cimport Condition, Shrink


cdef class FixedThreshold(Condition):
    cdef readonly double b


cdef class Mistake(FixedThreshold):
    pass


cdef class UnevenThreshold(Condition):
    cdef readonly double negative
    cdef readonly double positive


cdef class ShrunkThreshold(Condition):
    cdef readonly double b
    cdef readonly Shrink shrink


cdef class FixedMargin(Condition):
    cdef readonly double beta


cdef class DynamicMargin(Condition):
    cdef readonly double eps
