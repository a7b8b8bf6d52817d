"""Refitting of a study's classifiers, because a study keeps neither models nor data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split

from margins.model_selection.checks import Data
from margins.model_selection.folds import part_of
from margins.model_selection.grids import seeded_estimator, seeded_settings
from margins.model_selection.records import decoded, encoded


class Refits:
    """Trains the classifiers of a study again."""

    def __init__(
        self, study: Any, estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> None:
        self._study = study
        self._data = data = Data(X, y, sample_weight, groups, "Study")
        kind = type(estimator)
        name = f"{kind.__module__}.{kind.__qualname__}"
        params = decoded(encoded(estimator.get_params(deep=False)))
        if name != study.estimator or params != study.params:
            raise ValueError(
                f"estimator of Study must be the estimator of the study, "
                f"{study.estimator}{study.params}. Got {name}{params}."
            )
        if data.digest != study.data:
            raise ValueError(
                "X, y, sample_weight and groups of Study must be the data of the study. Got different "
                "data, or a study of version 0.2, which recorded its data in another way."
            )
        self._estimator = seeded_estimator(estimator, study.seed)

    def best(self) -> Any:
        """Return the classifier with the setting chosen most often, trained on all samples."""
        return self._fitted(self._study.best_params, np.arange(len(self._data.y)))

    def predictions(self) -> list[Any]:
        """Return the predictions of each fold's classifier for its test set."""
        predicted = []
        for fold in self._study.folds:
            classifier = self._fitted(fold.best_params, fold.train)
            X, _ = _safe_split(classifier, self._data.X, self._data.y, fold.test, fold.train)
            predicted.append(classifier.predict(X))
        return predicted

    def _fitted(self, setting: dict[str, Any], rows: Any) -> Any:
        (seeded,) = seeded_settings([setting], self._study.seed)
        classifier = clone(self._estimator).set_params(**clone(seeded, safe=False))
        X, y = _safe_split(classifier, self._data.X, self._data.y, rows)
        weight = part_of(self._data.sample_weight, rows)
        weights = {} if weight is None else {"sample_weight": weight}
        return classifier.fit(X, y, **weights)
