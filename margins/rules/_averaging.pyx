"""The base class of averaging, which makes the model from the hypotheses of a run."""

from margins.data._binary_data cimport BinaryData
from margins.rules._state cimport Sample, Step
from margins.rules._weight_vector cimport WeightVector


cdef class Averaging:
    """A rule that makes the model from the hypotheses of a run. The base class takes the last hypothesis.

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
        """Called before `step` updates the hypothesis `a`."""

    def reserve(self, Py_ssize_t n_updates) -> None:
        """Allocate memory for the mistakes of `n_updates` updates, because a pass cannot allocate."""

    def for_stream(self) -> Averaging:
        """Return the averaging to continue with over other samples, each of which is accessed once.

        Subclasses that keep dual variables or indices of samples return a copy without them.
        """
        return self

    def hypothesis(self, WeightVector a, BinaryData data) -> WeightVector:
        """Return the weight vector of the model; `a` is the current one."""
        return a
