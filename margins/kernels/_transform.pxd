cdef class Transform:
    cdef object error
    cdef void row(self, double* values, Py_ssize_t n, double sqnorm, const double* sqnorms) noexcept nogil
    cdef bint block(
        self, double* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept nogil
    cdef bint single_block(
        self, float* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept nogil
    cdef int check(self) except -1


cdef class ArrayTransform(Transform):
    cdef object function
    cdef bint _call(
        self, double* values, Py_ssize_t n_rows, Py_ssize_t n_columns,
        const double* row_sqnorms, const double* column_sqnorms
    ) noexcept with gil
