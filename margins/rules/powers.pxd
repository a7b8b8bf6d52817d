# cython: language_level=3
from margins.rules._base cimport Condition


cdef class PowerThreshold(Condition):
    cdef readonly double b
    cdef readonly double exponent


cdef class UpdatePower(PowerThreshold):
    pass


cdef class LengthPower(PowerThreshold):
    pass


cdef class FallingMargin(Condition):
    cdef readonly double beta
    cdef readonly double exponent
