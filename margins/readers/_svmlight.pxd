cdef enum Fault:
    NONE, LABEL, FRACTION, LARGE_LABEL, INDEX, COLON, VALUE, BELOW_FIRST, NOT_ASCENDING, TOO_LARGE

# The end of a decimal number, and its value; NULL if there is none that is finite.
cdef const char *read_number(const char *p, double *value) except? NULL
