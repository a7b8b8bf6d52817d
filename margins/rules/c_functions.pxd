from margins.rules._base cimport Condition, Shrink, Update

ctypedef double (*threshold_t)(double, double, double, double) noexcept nogil
ctypedef double (*threshold_with_t)(double, double, double, double, void*) noexcept nogil
ctypedef double (*factor_t)(double, double, double) noexcept nogil
ctypedef double (*factor_with_t)(double, double, double, void*) noexcept nogil
ctypedef double (*coefficient_t)(double, double, double, double, double, double) noexcept nogil
ctypedef double (*coefficient_with_t)(double, double, double, double, double, double, void*) noexcept nogil

ctypedef double (*full_coefficient_t)(
    double, double, double, double, double, double, double, double, double
) noexcept nogil
ctypedef double (*full_coefficient_with_t)(
    double, double, double, double, double, double, double, double, double, void*
) noexcept nogil


cdef class NativeCondition(Condition):
    cdef readonly object function
    cdef threshold_t call
    cdef threshold_with_t call_with
    cdef void* user_data


cdef class NativeShrink(Shrink):
    cdef readonly object function
    cdef factor_t call
    cdef factor_with_t call_with
    cdef void* user_data


cdef class NativeUpdate(Update):
    cdef readonly object function
    cdef coefficient_t call
    cdef coefficient_with_t call_with
    cdef full_coefficient_t call_all
    cdef full_coefficient_with_t call_all_with
    cdef void* user_data
