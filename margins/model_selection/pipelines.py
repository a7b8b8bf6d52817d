"""Pipelines in studies: if only the last step varies, the other steps are fitted once per split.

The classifier at the end is then trained like a single classifier: in lockstep, or along C.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.pipeline import Pipeline


class LastStep(NamedTuple):
    """The part of an estimator that is trained with every setting."""

    classifier: Any  # classifier: the estimator, or the last step of a pipeline
    prefix: str = ""  # Prefix of its parameters in a setting; "" without a pipeline
    preparation: Any = None  # Pipeline or None: the steps before the classifier

    def without_prefix(self, settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the settings with the classifier's parameter names: list of dict."""
        n = len(self.prefix)
        return [{name[n:]: value for name, value in setting.items()} for setting in settings]

    def prepared(self, X_train: Any, y_train: Any, X_test: Any) -> tuple[Any, Any]:
        """Return X_train and X_test as the classifier gets them."""
        if self.preparation is None:
            return X_train, X_test
        preparation = clone(self.preparation)
        return preparation.fit_transform(X_train, y_train), preparation.transform(X_test)


def last_step(estimator: Any, settings: Sequence[Mapping[str, Any]]) -> LastStep:
    """Return the LastStep of an estimator: the part that varies in the settings.

    It is the whole pipeline if a setting changes or replaces another step, or if the pipeline caches
    transformers.
    """
    if type(estimator) is Pipeline and len(estimator.steps) > 1 and estimator.memory is None:
        name, classifier = estimator.steps[-1]
        prefix = f"{name}__"
        if all(key.startswith(prefix) for setting in settings for key in setting):
            return LastStep(classifier, prefix, estimator[:-1])
    return LastStep(estimator)
