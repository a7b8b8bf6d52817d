cdef class Context:
    cdef object limit
