from margins.rules._base cimport Condition, Shrink, Update


cdef enum:
    MOST_NAMES = 13     # number of names in margins.rules.functions.NAMES that a function may have as parameters


cdef class Function:
    cdef readonly object function
    cdef readonly str kind
    cdef readonly tuple names           # of the parameters, in the order of the call
    cdef object error                   # the exception that it raised
    cdef object keywords                # tuple of the `names` passed by keyword, or None
    cdef Py_ssize_t places[MOST_NAMES]  # positions of the numbers of `names` in the values
    cdef size_t n_positional
    cdef double evaluate(self, const double* values) noexcept with gil
    cdef int check(self) except -1


cdef class PythonCondition(Condition):
    cdef readonly Function call
    cdef bint names_label


cdef class PythonShrink(Shrink):
    cdef readonly Function call


cdef class PythonUpdate(Update):
    cdef readonly Function call
