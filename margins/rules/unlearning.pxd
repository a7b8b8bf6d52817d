"""The condition of the margin perceptron with unlearning, and its epoch as one fused loop."""

from margins.rules.conditions cimport FixedThreshold


cdef class Unlearning(FixedThreshold):
    cdef readonly double delta_b
