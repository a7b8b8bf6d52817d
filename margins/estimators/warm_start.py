"""Warm starts from dual variables: a fit starts where the last fit ended."""

import numpy as np

from margins.estimators.continuation import DualContinuation
from margins.estimators.declared import Declared
from margins.kernels import LINEAR
from margins.parameters import BOOLEAN, parameter
from margins.training.schemes import fitted_scheme


class DualWarmStartMixin(Declared):
    """Parameter `warm_start` of a classifier that fits dual variables."""

    warm_start: bool = parameter(
        BOOLEAN,
        "True: `fit` starts from the dual variables of the last fit, if there is one; the numbers of "
        "samples and features, and the classes, must be the same. The dual variables are scaled or "
        "clipped to be feasible.",
        default=False,
    )

    @property
    def _is_warm(self):
        """True if the next fit starts from the last fit."""
        return self.warm_start and hasattr(self, "dual_coef_")

    def _continuation(self):
        if not self._is_warm:
            return None
        return DualContinuation(
            self._last_dual(), self.classes_, self.n_features_in_, fitted_scheme(self).has_pairs
        )

    def _last_dual(self):
        """Return the dual variables of all samples in the last fit (ndarray of float64)."""
        if self.kernel_ == LINEAR:
            return self.dual_coef_
        dual = np.zeros((len(self.dual_coef_), self._n_samples))
        dual[:, self.support_] = np.abs(self.dual_coef_)
        return dual
