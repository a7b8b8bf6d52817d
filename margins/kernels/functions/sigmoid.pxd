from margins.kernels._transform cimport Transform


cdef class SigmoidTransform(Transform):
    cdef double gamma, coef0
