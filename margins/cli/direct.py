"""Fits of svmlight files by NumPy alone: to import scikit-learn takes longer than many fits."""

import dataclasses
import math
import os

# Parameters whose other values need more than the training set of `CsrArrays` offers.
USUAL = {"kernel": "linear", "multi_class": "ovr", "penalize_intercept": True}


def usual_classifier(name, parameters):
    """Return a classifier that `fit` can fit; None if the algorithm or its parameters are not usual."""
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


def text_of_model(model):
    """Return a fitted classifier as the text of LIBLINEAR or LIBSVM (bytes)."""
    from margins.readers.models import linear_file, text_of

    if getattr(model, "is_light", False):
        return text_of(linear_file(model, model.coef_))
    from margins.interchange.libsvm import model_file

    return text_of(model_file(model))


def predictor_of(model):
    """Return the classes of a LinearFile, and the function from CsrArrays to scores and labels."""
    import numpy as np

    from margins._sparse import Rows
    from margins.readers.models import by_sorted_label
    from margins.training.schemes import labels_of_scores

    classes, coef, intercept = by_sorted_label(model)

    def predict(arrays):
        m, d = len(arrays.labels), max(arrays.shape[1], coef.shape[1])
        rows = Rows(arrays.values, m, d, arrays.columns, arrays.starts)
        weights = np.zeros((len(coef), d))
        weights[:, : coef.shape[1]] = coef
        scores = np.column_stack([rows.products(w) for w in weights]) + intercept
        scores = scores.ravel() if len(classes) == 2 else scores
        return labels_of_scores(scores, classes), scores

    return classes, predict
