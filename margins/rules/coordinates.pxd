from margins.rules._base cimport Condition, Step, Update, Sample


cdef class UnitMargin(Condition):
    cdef readonly double tolerance


cdef class CoordinateStep(Update):
    cdef readonly double eta
    cdef void _move(self, const Sample* sample, Step* out) noexcept nogil
