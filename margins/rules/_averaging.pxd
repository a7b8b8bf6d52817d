# cython: language_level=3
"""The base class of averaging: which hypotheses of a run become the model."""

from margins.data._binary_problem cimport Patterns
from margins.rules._state cimport Sample, Step
from margins.rules._weight_vector cimport WeightVector


cdef class Readout:
    # Of the current hypothesis, since the last update:
    cdef public double n_right              # samples that were not misclassified
    cdef public double n_presented          # all samples processed
    cdef void before_update(
        self, Patterns patterns, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil


cdef inline void count_samples(Readout readout, Py_ssize_t n, Py_ssize_t n_wrong) noexcept nogil:
    """Count n more samples processed by the current hypothesis, some of them misclassified."""
    readout.n_presented += n
    readout.n_right += n - n_wrong


cdef inline void end_hypothesis(
    Readout readout, Patterns patterns, WeightVector a, const Sample* sample, const Step* step,
    Py_ssize_t n, Py_ssize_t n_refused
) noexcept nogil:
    """The current hypothesis ends after n more samples, the last of them and `n_refused` misclassified."""
    count_samples(readout, n, n_refused + 1)
    readout.before_update(patterns, a, sample, step)
    readout.n_presented = readout.n_right = 0
