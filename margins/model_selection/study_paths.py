"""Fits of a search that differ only in C, each started from the previous fit.

Every fit is proven to the accuracy of its problem, like a fit that starts at zero, so the scores of both
agree up to `eps`.
"""

import math
from numbers import Real

import numpy as np

from margins.data.validation import validate_points
from margins.estimators.callbacks import has_callbacks
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.messages import run_not_converged, worst_of
from margins.estimators.names import display_name
from margins.model_selection.lockstep import Trained, reason_for_single_fits
from margins.training.along_c import paths_of
from margins.training.fit import model_of

# Types that are compared by value; other values must be the same object.
PLAIN = (bool, int, float, str)


def reason_against(estimator, searches):
    """Return the reason why the fits of searches are not made along C."""
    if type(estimator) is not MarginClassifier:
        return f"{display_name(estimator)} is not a MarginClassifier"
    if has_callbacks(estimator):
        return "callbacks are set"
    if estimator.warm_start:
        return "warm_start=True"
    reasons = (_reason_against(estimator, settings) for settings in searches)
    return next((reason for reason in reasons if reason is not None), None)


def _reason_against(estimator, settings):
    if len(settings) < 2:
        return "there is only one setting"
    params = estimator.get_params(deep=False)
    for setting in settings:
        if "C" not in setting:
            return "C does not vary"
        same_names = setting.keys() == settings[0].keys()
        if not same_names or not all(_is_same(setting[n], settings[0][n]) for n in setting if n != "C"):
            return "more than C varies"
        C = setting["C"]
        if not isinstance(C, Real) or isinstance(C, bool) or not 0 < float(C) < math.inf:
            return f"C={C!r} has no neighbours"
    params |= settings[0]
    if params["multi_class"] == "ovo":
        return "multi_class='ovo'"
    return reason_for_single_fits(params)


def _is_same(first, second):
    is_plain = isinstance(first, PLAIN) and type(first) is type(second)
    return first is second or (is_plain and first == second)


def train_along_c(estimator, Cs, X_train, y_train, X_test, sample_weight=None):
    """Train an estimator with every C, and score a test set."""
    estimator.check_parameters()
    training_set = estimator.training_set(X_train, y_train, sample_weight)
    specification = estimator.specification(training_set.sqnorms)
    X_test = validate_points(estimator, X_test, training_set.samples)
    order = np.argsort(Cs, kind="stable")
    paths = paths_of(training_set, specification, estimator, Cs)

    def result_of(index, outcome):
        unproven = None
        if not outcome.converged:
            problem = training_set.scheme.name(training_set.classes.tolist(), index)
            unproven = run_not_converged(estimator, outcome, problem)
        scores = model_of([outcome], outcome.specification, training_set).scores(X_test).ravel()
        return scores, outcome.n_epochs, outcome.certificate.n_updates, unproven

    results = paths.train_all(estimator.random_state, [float(Cs[i]) for i in order], result_of)
    trained, scheme = [None] * len(Cs), training_set.scheme
    for i, problems in zip(order, results, strict=True):
        scores, n_epochs, n_updates, unproven = zip(*problems, strict=True)
        score_rows = np.stack(scores)
        scheme.set_absent(score_rows, training_set.samples.absent, 1.0)
        trained[i] = Trained(
            scores=scheme.decision(score_rows.T),
            classes=training_set.classes,
            n_iter=max(n_epochs),
            n_updates=sum(n_updates),
            unproven=worst_of(unproven),
        )
    return trained
