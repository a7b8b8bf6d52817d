from margins.rules.conditions cimport FixedThreshold


cdef class Unlearning(FixedThreshold):
    cdef readonly double delta_b
