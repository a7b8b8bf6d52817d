from margins.rules._base cimport Condition, State, Update


cdef class MarginError(Condition):
    cdef readonly double b


cdef class PassiveAggressive(Update):
    cdef readonly double most, slack


cdef class SubgradientStep(Update):
    cdef readonly double lam
    cdef readonly bint project
    cdef const double[:] weight     # of every sample; None: all are 1
    cdef double size(self, const State* state) noexcept nogil
    cdef double weight_of(self, Py_ssize_t k) noexcept nogil
    cdef double projection(self, double sqnorm) noexcept nogil
