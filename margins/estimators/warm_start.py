"""Warm starts from dual variables: a fit begins where the last one has ended.

Any dual variables within their bounds are feasible, and the weight vector is computed from them over the
samples at hand. So every certificate of a warm fit is true, whatever has changed since the last one: the
penalties, the loss, the accuracy, labels, weights, or the samples themselves.
"""

from typing import NamedTuple

import numpy as np

from margins.estimators.declared import Declared
from margins.kernels import LINEAR
from margins.parameters import BOOLEAN, parameter


class _Previous(NamedTuple):
    """What a warm fit begins from: dual variables, shape (n_problems, n_samples), and whose they are."""

    dual: np.ndarray
    classes: np.ndarray
    n_features: int


class DualWarmStartMixin(Declared):
    """`warm_start` of a classifier that fits dual variables."""

    warm_start: bool = parameter(
        BOOLEAN,
        "True: `fit` begins from the dual variables of the last fit, if there is one, with as many "
        "samples and features and the same classes. They are multiplied or bounded to be feasible.",
        default=False,
    )

    # During a fit with a warm start: _Previous.
    _previous = None

    @property
    def _is_warm(self):
        """True if the next fit begins from the last one."""
        return self.warm_start and hasattr(self, "dual_coef_")

    def _begin_fit(self):
        self.__dict__.pop("_previous", None)
        if self._is_warm:
            self._previous = _Previous(self._last_dual(), self.classes_, self.n_features_in_)

    def _last_dual(self):
        """The dual variables of the last fit, of all samples: ndarray of float64."""
        if self.kernel_ == LINEAR:
            return self.dual_coef_
        dual = np.zeros((len(self.dual_coef_), self._n_samples))
        dual[:, self.support_] = np.abs(self.dual_coef_)
        return dual

    def _run_maker(self, samples, fit):
        make = super()._run_maker(samples, fit)
        previous = self.__dict__.pop("_previous", None)
        if previous is None:
            return make
        self._check_previous(previous, samples)

        def make_warm(index, seed):
            run = make(index, seed)
            run.start_from(previous.dual[index][samples.kept])
            return run

        return make_warm

    def _check_previous(self, previous, samples):
        """Raise ValueError unless dual variables of the last fit can be those of these samples."""
        before = previous.dual.shape[1], previous.n_features, previous.classes.tolist()
        now = samples.n_samples, samples.X.shape[1], self.classes_.tolist()
        if before != now:
            expected, got = (
                f"{n_samples} samples, {n_features} features, classes {classes}"
                for n_samples, n_features, classes in (before, now)
            )
            raise ValueError(
                f"X and y of {self._display_name('fit')} must have the samples, features and classes of "
                f"the last fit, with warm_start=True: {expected}. Got {got}. A clone, or "
                "warm_start=False, begins at zero."
            )

    def _collect(self, runs, samples):
        super()._collect(runs, samples)
        self._n_samples = samples.n_samples
