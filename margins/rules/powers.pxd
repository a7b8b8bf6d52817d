# cython: language_level=3
from margins._update cimport Condition


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
