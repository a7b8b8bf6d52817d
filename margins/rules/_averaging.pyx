"""The base class of averaging: which hypotheses of a run become the model."""

from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport Sample, Step
from margins.rules._weight_vector cimport WeightVector


cdef class Averaging:
    """Which hypotheses of a run become the model? The base class, which keeps none: the last one.

    A hypothesis lasts from one update to the next. `n_right` and `n_accesses` are brought up to date
    when it ends, not sample by sample. Subclasses override `before_update`, and `reserve` if they grow.
    """

    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil:
        """The hypothesis `a`, still unchanged, is about to be updated by `step`."""

    def reserve(self, Py_ssize_t n_updates):
        """Allocate memory for so many updates: during a pass nothing can be allocated."""

    def for_stream(self):
        """The averaging that goes on over other samples, each accessed once: Averaging.

        Subclasses that keep dual variables, or indices of samples, return a copy without these.
        """
        return self

    def hypothesis(self, WeightVector a, BinaryData data):
        """The weight vector of the model, given the current one, `a`: WeightVector."""
        return a
