from margins.kernels._transform cimport Transform


cdef class RadialTransform(Transform):
    cdef double gamma
