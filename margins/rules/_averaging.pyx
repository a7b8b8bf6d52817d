"""The base class of averaging: how the hypotheses of a run become the model."""

from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport Sample, Step
from margins.rules._weight_vector cimport WeightVector


cdef class Averaging:
    """How the hypotheses of a run become the model. The base class: the model is the last one.

    A hypothesis lasts from one update to the next. `n_right` and `n_accesses` are updated when it ends,
    not sample by sample. Subclasses override `before_update`, and `reserve` if they grow.

    See Also
    --------
    Average, SuffixAverage : Means of hypotheses.
    LongestSurvivor, Pocket : One of the hypotheses.
    MistakeHistory : All hypotheses.

    Examples
    --------
    >>> from margins.rules import Average, Averaging, MistakeHistory
    >>> issubclass(Average, Averaging), issubclass(MistakeHistory, Averaging)
    (True, True)
    """

    cdef void before_update(
        self, BinaryData data, WeightVector a, const Sample* sample, const Step* step
    ) noexcept nogil:
        """The hypothesis `a`, still unchanged, is about to be updated by `step`."""

    def reserve(self, Py_ssize_t n_updates) -> None:
        """Allocate memory for the mistakes of `n_updates` updates: a pass cannot allocate."""

    def for_stream(self) -> Averaging:
        """The averaging to continue with over other samples, each accessed once: Averaging.

        Subclasses that keep dual variables, or indices of samples, return a copy without these.
        """
        return self

    def hypothesis(self, WeightVector a, BinaryData data) -> WeightVector:
        """The weight vector of the model, given the current one, `a`: WeightVector."""
        return a
