"""Fitted attributes of a selection of C: the results of folds, and of the final fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.messages import warn_of
from margins.estimators.names import MessageName, display_name
from margins.model_selection.fold_paths import FoldFit, unproven_of_folds
from margins.model_selection.leave_one_out import LeaveOneOut


class Selection:
    """Fitted attributes of a selection, in a separate class, so that they are not parameters."""

    C_: float
    Cs_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    fold_fits_: list[list[list[FoldFit]]]
    leave_one_out_: list[LeaveOneOut]
    estimator_: MarginClassifier
    _adopted: tuple[str, ...]

    def _leave(
        self, Cs: NDArray[np.float64], classes: NDArray[Any], n_features: int, feature_names: Any
    ) -> None:
        """Replace the last fit's attributes by the attributes that do not depend on the selected C."""
        self._forget()
        self.Cs_, self.classes_, self.n_features_in_ = Cs, classes, n_features
        vars(self).pop("feature_names_in_", None)
        if feature_names is not None:
            self.feature_names_in_ = feature_names

    def _select(
        self, scores: NDArray[np.float64], fits: list[list[list[FoldFit]]], smallest: bool = False
    ) -> int:
        """Set the attributes of folds and the selected C, and return its index.

        Among equal scores, select the first, as GridSearchCV does, or the smallest C.
        """
        self.scores_, self.fold_fits_ = scores, fits
        unproven = unproven_of_folds(display_name(self), fits, self.Cs_)
        if unproven:
            warn_of(unproven, 2)
        means = self.scores_.mean(axis=0)
        if np.isnan(means).all():
            raise ValueError(
                f"scoring of {MessageName(self, 'fit')} must give numbers. Got nan for every C."
            )
        equal = np.flatnonzero(means == np.nanmax(means))
        best = int(equal[np.argmin(self.Cs_[equal])] if smallest else equal[0])
        self.C_ = float(self.Cs_[best])
        return best

    def _forget(self) -> None:
        """Delete the attributes of the last fit that this fit may not set."""
        for name in [*getattr(self, "_adopted", ()), "estimator_", "leave_one_out_", "_calibrated"]:
            vars(self).pop(name, None)
        self._adopted = ()

    def _adopt(self, classifier: MarginClassifier) -> None:
        """Take over the fitted attributes of a classifier."""
        fitted = {
            name: value
            for name, value in vars(classifier).items()
            if name.endswith("_") and not name.startswith("_") and name not in vars(self)
        }
        vars(self).update(fitted)
        self._adopted = tuple(fitted)
