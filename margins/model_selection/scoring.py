"""Scores of classifiers by scikit-learn's scorers; accuracy is computed for all settings at once."""

import contextlib
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring, get_scorer, make_scorer

from margins.training.schemes import labels_of_scores

NAMELESS = "score"  # the name of a metric that is a callable without a name


class Scoring:
    """The metrics of a study."""

    def __init__(self, scoring, refit, caller):
        if isinstance(scoring, str) or callable(scoring):
            name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", NAMELESS)
            scoring = {name: scoring}
        elif isinstance(scoring, list | tuple | set) and all(isinstance(name, str) for name in scoring):
            scoring = {name: name for name in scoring}
        is_dict = isinstance(scoring, dict) and all(type(name) is str for name in scoring)
        if not is_dict or not scoring:
            raise TypeError(
                f"scoring of {caller} must be a name, a callable, a list of names, or a dict of them. "
                f"Got {scoring!r}."
            )
        self._scoring = scoring
        self.metrics = {name: _scorer(scorer, caller) for name, scorer in scoring.items()}
        self.names = tuple(scoring)
        self.refit = self.names[0] if refit is None and len(scoring) == 1 else refit
        if self.refit not in self.metrics:
            raise ValueError(
                f"refit of {caller} must name the metric that decides, one of "
                f"{', '.join(map(repr, self.names))}. Got {refit!r}."
            )
        # Computed here, because scikit-learn's accuracy takes longer than a short fit.
        self._accuracies = [name for name in self.names if scoring[name] == "accuracy"]
        others = {name: self.metrics[name] for name in self.names if name not in self._accuracies}
        self._others = check_scoring(scoring=others) if others else None

    def check(self, estimator, y, caller):
        """Raise ValueError, before any fit, if a metric needs more than labels and decision_function."""
        classes = np.unique(y)
        n_classes, classes = len(classes), classes[:3]  # metrics are for two classes, or any number
        codes = np.repeat(np.arange(len(classes)), 2)
        scores = 2.0 * codes - 1 if len(classes) == 2 else np.eye(len(classes))[codes]
        for name, scorer in self.metrics.items():
            if name in self._accuracies or not isinstance(scorer, SCORER):
                continue
            # Metrics of scikit-learn are computed for a few correct labels; others are not.
            kind = Decided if isinstance(self._scoring[name], str) else _Asked
            # With the name of the estimator's class, which errors show.
            predicted = type(type(estimator).__name__, (kind,), {})(scores, classes)
            try:
                with warnings.catch_warnings(), contextlib.suppress(_HasMethod):
                    warnings.simplefilter("ignore")
                    scorer(predicted, None, classes[codes])
            except (AttributeError, ValueError) as error:
                raise ValueError(
                    f"scoring of {caller} must be a metric of predicted labels or of scores of "
                    f"decision_function, for {n_classes} classes. Got {self._scoring[name]!r}: {error}"
                ) from error

    @property
    def reason_against_lockstep(self):
        """None if every metric needs only scores, otherwise the reason as a str."""
        for name, scorer in self.metrics.items():
            if not isinstance(scorer, SCORER):
                return f"the metric {name!r} may need more than the scores of a classifier"
        return None

    def of(self, classifier, X, y):
        """Return the scores of a fitted classifier: dict of float."""
        scores = dict.fromkeys(self.names)
        if self._accuracies:
            accuracy = float(np.mean(classifier.predict(X) == y))
            scores |= dict.fromkeys(self._accuracies, accuracy)
        if self._others is not None:
            values = self._others(classifier, X, y)
            scores |= {name: float(value) for name, value in values.items()}
        return scores

    def of_all(self, trained, X, y):
        """Return the scores of models trained in lockstep: list of dict of float."""
        if self._others is None:
            labels = labels_of_scores(np.stack([model.scores for model in trained]), trained[0].classes)
            accuracies = np.mean(labels == y, axis=1)
            return [dict.fromkeys(self.names, float(accuracy)) for accuracy in accuracies]
        return [self.of(Decided(model.scores, model.classes), X, y) for model in trained]


def _scorer(scorer, caller):
    if isinstance(scorer, str):
        try:
            return get_scorer(scorer)
        except ValueError as error:
            raise ValueError(
                f"scoring of {caller} must be a name in sklearn.metrics.get_scorer_names(). "
                f"Got {scorer!r}."
            ) from error
    if not callable(scorer):
        raise TypeError(f"scoring of {caller} must be names or callables. Got {scorer!r}.")
    return scorer


SCORER = type(make_scorer(max))  # scikit-learn has no public name for it


class Decided(ClassifierMixin, BaseEstimator):
    """A classifier with fixed scores of the samples to test, and labels, for scikit-learn's scorers."""

    def __init__(self, scores, classes, labels=None):
        self.scores = scores
        self.classes = classes
        self.classes_ = classes
        self.labels = labels

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self.scores

    def predict(self, X):
        return labels_of_scores(self.scores, self.classes) if self.labels is None else self.labels


class _HasMethod(Exception):
    """Raised when a scorer calls a method that the classifier has."""


class _Asked(Decided):
    """A classifier without probabilities, whose other methods raise `_HasMethod`."""

    def decision_function(self, X):
        raise _HasMethod

    def predict(self, X):
        raise _HasMethod
