from margins.kernels._transform cimport Transform


cdef class PolynomialTransform(Transform):
    cdef double gamma, coef0
    cdef int degree
