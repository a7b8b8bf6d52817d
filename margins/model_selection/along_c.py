"""Fits of a search that differ in C alone, along the path: each from where the one before has ended.

Every fit is proven to the accuracy of its own problem, as a fit that begins at zero is, so that scores
are those of such fits up to `eps`.
"""

import copy
import math
import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from margins.data.binary_data import rows_of
from margins.data.validation import validate_points, validate_samples
from margins.estimators.along_c import TrainingSet
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.messages import not_converged
from margins.estimators.multiclass import positive_codes, seeds_of
from margins.estimators.names import display_name
from margins.kernels.selection import kernel_of
from margins.model_selection.lockstep import Trained

# Types of values that are compared by value; others must be one object.
PLAIN = (bool, int, float, str)


def reason_against(estimator, searches):
    """Why the fits of searches are not made along C.

    Parameters
    ----------
    estimator : classifier
        Of any library.
    searches : list of list of dict
        For each search its settings, parameters of `estimator` to be set.

    Returns
    -------
    str or None
        None: `scores_along_c` makes them.
    """
    if type(estimator) is not MarginClassifier:
        return f"{display_name(estimator)} is not a MarginClassifier"
    if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
        return "callbacks are set"
    if estimator.warm_start:
        return "warm_start=True"
    for settings in searches:
        reason = _reason_against(estimator, settings)
        if reason is not None:
            return reason
    return None


def _reason_against(estimator, settings):
    if len(settings) < 2:
        return "there is one setting"
    params = estimator.get_params(deep=False)
    for setting in settings:
        if "C" not in setting:
            return "C does not vary"
        if setting.keys() != settings[0].keys() or not all(
            _is_same(setting[name], settings[0][name]) for name in setting if name != "C"
        ):
            return "more than C varies"
        C = setting["C"]
        if not isinstance(C, Real) or isinstance(C, bool) or not 0 < float(C) < math.inf:
            return f"C={C!r} has no neighbours"
    params |= settings[0]
    if params["max_time"] is not None:
        return f"max_time={params['max_time']!r} is of one fit"
    if params["verbose"]:
        return f"verbose={params['verbose']!r} prints lines for every fit"
    return None


def _is_same(one, other):
    return one is other or (isinstance(one, PLAIN) and type(one) is type(other) and one == other)


def scores_along_c(estimator, Cs, X_train, y_train, X_test, sample_weight=None):
    """Train an estimator with every C, and score a test set.

    Parameters
    ----------
    estimator : MarginClassifier
        With all other parameters; it is changed.
    Cs : sequence of float
        In any order.
    X_train : array-like or sparse matrix, shape (n_samples, n_features)
    y_train : array-like, shape (n_samples,)
    X_test : array-like or sparse matrix, shape (n_test, n_features)
    sample_weight : array-like of float, shape (n_samples,), optional

    Returns
    -------
    list of margins.model_selection.lockstep.Trained
        One for each C, in order.
    """
    estimator._check_parameters()
    X, y, codes = validate_samples(estimator, X_train, y_train)
    samples = estimator._weigh(X, codes, sample_weight)
    estimator.kernel_ = kernel_of(estimator, samples.X)
    X_test = validate_points(estimator, X_test)
    training_set = TrainingSet(estimator, samples)
    problems = positive_codes(len(estimator.classes_))
    if len(problems) > 1 and training_set.has_moments:
        training_set.moments = training_set.sum_moments()
    order = np.argsort(Cs, kind="stable")
    scores = np.empty((len(Cs), X_test.shape[0], len(problems)))
    n_iter, n_updates = np.zeros(len(Cs), dtype=int), np.zeros(len(Cs), dtype=int)
    score = _kernel_scores if training_set.is_kernel else _linear_scores(X_test)
    for problem, seed in enumerate(seeds_of(estimator.random_state, len(problems))):

        def visit(position, fitted, run, problem=problem):
            i = order[position]
            scores[i, :, problem] = score(fitted, run, samples, X_test)
            n_iter[i] = max(n_iter[i], run.n_epochs)
            n_updates[i] += run.certificate.n_updates
            if not run.converged:
                label = estimator.classes_.tolist()[problem]
                which = "" if len(problems) == 1 else f" for class {label!r}"
                warnings.warn(not_converged(fitted, run, which), ConvergenceWarning, stacklevel=2)

        training_set.train(problems[problem], seed, [float(Cs[i]) for i in order], visit)
    return [
        Trained(
            scores[i].ravel() if len(problems) == 1 else scores[i],
            estimator.classes_,
            int(n_iter[i]),
            int(n_updates[i]),
        )
        for i in range(len(Cs))
    ]


def _linear_scores(X_test):
    """A function that computes the scores of a run, by the rows of a test set."""
    rows = rows_of(X_test)

    def score(estimator, run, samples, X_test):
        model, scale = run.hypothesis, estimator._scale(run)
        intercept = scale * (run.data.sqrho * model.label_sum - run.theta)
        return rows.products(scale * model.weights) + intercept

    return score


def _kernel_scores(estimator, run, samples, X_test):
    """The scores of a run, by its support vectors."""
    classifier = copy.copy(estimator)
    classifier._collect_model([run], samples)
    return classifier._scores(X_test).ravel()
