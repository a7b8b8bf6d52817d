"""Warm starts from dual variables: a fit begins where the last one ended."""

import numpy as np

from margins.estimators.continuation import DualContinuation
from margins.estimators.declared import Declared
from margins.kernels import LINEAR
from margins.parameters import BOOLEAN, parameter
from margins.training.schemes import fitted_scheme


class DualWarmStartMixin(Declared):
    """`warm_start` of a classifier that fits dual variables."""

    warm_start: bool = parameter(
        BOOLEAN,
        "True: `fit` begins from the dual variables of the last fit, if there is one, with as many "
        "samples and features and the same classes. They are multiplied or bounded to be feasible.",
        default=False,
    )

    @property
    def _is_warm(self):
        """True if the next fit begins from the last one."""
        return self.warm_start and hasattr(self, "dual_coef_")

    def _continuation(self):
        if not self._is_warm:
            return None
        return DualContinuation(
            self._last_dual(), self.classes_, self.n_features_in_, fitted_scheme(self).has_pairs
        )

    def _last_dual(self):
        """The dual variables of the last fit, of all samples: ndarray of float64."""
        if self.kernel_ == LINEAR:
            return self.dual_coef_
        dual = np.zeros((len(self.dual_coef_), self._n_samples))  # of all samples
        dual[:, self.support_] = np.abs(self.dual_coef_)
        return dual
