"""A context that is entered and left as a whole."""


cdef class Context:
    cdef object limit
