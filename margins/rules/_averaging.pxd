from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport Sample, Step
from margins.rules._weight_vector cimport WeightVector


cdef class Averaging:
    # These count the current hypothesis since the last update; a sample counts as its weight:
    cdef public double n_right              # samples that were not misclassified
    cdef public double n_accesses          # all samples processed
    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil


cdef inline void count_samples(Averaging averaging, Py_ssize_t n, Py_ssize_t n_wrong) noexcept nogil:
    """Count n more samples of weight 1, of which the current hypothesis misclassified n_wrong."""
    averaging.n_accesses += n
    averaging.n_right += n - n_wrong


cdef inline void count_weight(Averaging averaging, double weight, bint is_right) noexcept nogil:
    """Count one more sample. Sums of weights are rounded, so samples must be added in their order."""
    averaging.n_accesses += weight
    if is_right:
        averaging.n_right += weight


cdef inline void end_hypothesis(
    Averaging averaging, BinaryData data, WeightVector a, const Sample* sample, const Step* step
) noexcept nogil:
    """End the current hypothesis, whose samples have been counted, with an update by the last of them."""
    averaging.before_update(data, a, sample, step)
    averaging.n_accesses = averaging.n_right = 0
