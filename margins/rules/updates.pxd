from margins.rules._base cimport Update


cdef class Additive(Update):
    cdef readonly double eta, most


cdef class NormalisedStep(Update):
    cdef readonly double eta, exponent


cdef class RelaxedMargin(Update):
    pass


cdef class Shifting(Update):
    cdef readonly double lam


cdef class BallStep(Update):
    cdef readonly double radius
