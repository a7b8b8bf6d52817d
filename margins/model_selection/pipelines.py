"""Pipelines in studies: if only parameters of the last step vary, the others are fitted once a split.

The classifier at the end is then trained like a classifier alone: in lockstep, or along C.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.pipeline import Pipeline


class LastStep(NamedTuple):
    """What is trained with every setting.

    Attributes
    ----------
    classifier : classifier
        The estimator, or the last step of a pipeline.
    prefix : str
        What its parameters have before their names in a setting; "" without a pipeline.
    preparation : Pipeline or None
        The steps before it.
    """

    classifier: Any
    prefix: str = ""
    preparation: Any = None

    def settings(self, settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Settings with the names of the classifier's own parameters: list of dict."""
        n = len(self.prefix)
        return [{name[n:]: value for name, value in setting.items()} for setting in settings]

    def prepared(self, X_train: Any, y_train: Any, X_test: Any) -> tuple[Any, Any]:
        """Samples as the classifier gets them: X_train and X_test."""
        if self.preparation is None:
            return X_train, X_test
        preparation = clone(self.preparation)
        return preparation.fit_transform(X_train, y_train), preparation.transform(X_test)


def last_step(estimator: Any, settings: Sequence[Mapping[str, Any]]) -> LastStep:
    """The part of an estimator that varies: LastStep.

    A pipeline is taken whole if a setting is about another step, replaces one, or if it caches
    transformers.
    """
    if type(estimator) is Pipeline and len(estimator.steps) > 1 and estimator.memory is None:
        name, classifier = estimator.steps[-1]
        prefix = f"{name}__"
        if all(key.startswith(prefix) for setting in settings for key in setting):
            return LastStep(classifier, prefix, estimator[:-1])
    return LastStep(estimator)
