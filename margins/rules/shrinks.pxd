from margins.rules._base cimport Shrink


cdef class NoShrink(Shrink):
    pass


cdef class ConstantShrink(Shrink):
    cdef readonly double lam


cdef class VariableShrink(Shrink):
    cdef readonly int n


cdef class ConstantDecay(Shrink):
    cdef readonly double lam


cdef class HarmonicDecay(Shrink):
    pass
