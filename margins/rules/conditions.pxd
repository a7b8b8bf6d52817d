from margins.rules._base cimport Condition, Shrink


cdef class FixedThreshold(Condition):
    cdef readonly double b


cdef class Mistake(FixedThreshold):
    pass


cdef class UnevenThreshold(Condition):
    cdef readonly double negative, positive


cdef class ShrunkThreshold(Condition):
    cdef readonly double b
    cdef readonly Shrink shrink


cdef class FixedMargin(Condition):
    cdef readonly double beta


cdef class DynamicMargin(Condition):
    cdef readonly double eps


cdef class PowerThreshold(Condition):
    cdef readonly double b, exponent


cdef class UpdatePower(PowerThreshold):
    pass


cdef class LengthPower(PowerThreshold):
    pass


cdef class FallingMargin(Condition):
    cdef readonly double beta, exponent
