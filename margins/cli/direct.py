"""Fits of svmlight files by NumPy alone, and predictions without it: imports take longer than both."""

import math
import operator
import os
from array import array

from margins.readers._svmlight import add_scores

# Parameters whose other values need more than the training set of `CsrArrays` offers.
USUAL = {"kernel": "linear", "multi_class": "ovr", "penalize_intercept": True}
USUAL |= dict.fromkeys(("degree", "gamma", "coef0"))  # `make_classifier` says that they are of no use


def usual_classifier(name, parameters):
    """Return a classifier that `fit` can fit; None if the algorithm or its parameters are not usual."""
    import dataclasses

    if name != "auto" or any(parameters.get(key, value) != value for key, value in USUAL.items()):
        return None
    weights = parameters.get("class_weight") or {}
    has_zeros = isinstance(weights, dict) and any(weight == 0 for weight in weights.values())
    if has_zeros or parameters.get("C") == math.inf:
        return None
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads take as long as a small fit
    from margins.estimators.algorithm import PlannedAlgorithm

    class MarginClassifier(PlannedAlgorithm):
        """The classifier of this name, without scikit-learn's methods."""

        is_light = True

    names = {field.name for field in dataclasses.fields(MarginClassifier)}
    return MarginClassifier(**parameters) if parameters.keys() <= names else None


def fit(classifier, arrays):
    """Fit a classifier to CsrArrays, and set its fitted attributes; return the warning, or None."""
    import numpy as np

    from margins.data.validation import ValidSamples, check_several, weighted_samples
    from margins.estimators.fitted import model_attributes, run_attributes, sample_attributes
    from margins.estimators.messages import not_converged
    from margins.training.fit import Fit, Training

    name = "MarginClassifier.fit"
    classes, codes = np.unique(arrays.labels, return_inverse=True)
    check_several(name, classes)
    valid = ValidSamples(arrays, arrays.labels, codes, classes, None)
    samples = weighted_samples(name, valid, None, classifier.class_weight)
    training_set = classifier.training_set_of(samples)
    specification = classifier.specification(training_set.sqnorms)
    training = Training(training_set, specification, classifier.n_jobs or 1)
    outcomes = training.train(classifier.phases, classifier.random_state)
    fit = Fit(training_set, specification, outcomes)
    attributes = sample_attributes(fit) | model_attributes(fit) | run_attributes(fit)
    vars(classifier).update(attributes)
    return None if classifier.converged_ else not_converged(classifier, fit).text


def labels_and_scores(model, arrays):
    """Return the labels that a LinearFile predicts, and an iterator over the scores by sorted label."""
    n_columns = model.n_columns
    scores = array("d", [0.0]) * (len(arrays.labels) * n_columns)
    add_scores(*arrays[:3], model.weights, n_columns, model.bias, scores)
    classes = sorted(model.labels)
    if n_columns == 1:
        if model.labels[0] == classes[0]:
            scores = array("d", map(operator.neg, scores))
        return [classes[score > 0] for score in scores], zip(scores, strict=True)
    columns = [scores[model.labels.index(label) :: n_columns] for label in classes]
    rows = list(zip(*columns, strict=True))
    return [classes[row.index(max(row))] for row in rows], iter(rows)
