# cython: language_level=3
"""The base class of averaging: which hypotheses of a run become the model."""

from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport Sample, Step
from margins.rules._weight_vector cimport WeightVector


cdef class Averaging:
    # Of the current hypothesis, since the last update:
    cdef public double n_right              # samples that were not misclassified
    cdef public double n_accesses          # all samples processed
    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil


cdef inline void count_samples(Averaging averaging, Py_ssize_t n, Py_ssize_t n_wrong) noexcept nogil:
    """Count n more samples processed by the current hypothesis, some of them misclassified."""
    averaging.n_accesses += n
    averaging.n_right += n - n_wrong


cdef inline void end_hypothesis(
    Averaging averaging, BinaryData data, WeightVector a, const Sample* sample, const Step* step,
    Py_ssize_t n, Py_ssize_t n_rejected
) noexcept nogil:
    """The current hypothesis ends after n more samples, the last of them and `n_rejected` misclassified."""
    count_samples(averaging, n, n_rejected + 1)
    averaging.before_update(data, a, sample, step)
    averaging.n_accesses = averaging.n_right = 0
