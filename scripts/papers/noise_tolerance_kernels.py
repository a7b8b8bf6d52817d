"""The accuracies of all averagings of a perceptron with a kernel, from the mistakes of one fit.

The last hypothesis and the longest survivor are hypotheses of the voted perceptron: with one fit instead
of three, mnist takes half an hour.
"""

import numpy as np
from noise_tolerance_studies import AVERAGINGS, classifier


def accuracies(run, setting, X, y, folds):
    """In percent, of every fold: dict of averaging to ndarray of float64. More than two classes."""
    found = {averaging: [] for averaging in AVERAGINGS}
    for train, test in folds:
        model = classifier("voted", run).set_params(**setting).fit(X[train], y[train])
        last, longest = scores_of_hypotheses(model, y[train], X[test])
        voted = model.decision_function(X[test])
        for averaging, scores in zip(AVERAGINGS, (last, longest, voted), strict=True):
            labels = model.classes_[np.argmax(scores, axis=1)]
            found[averaging].append(100 * np.mean(labels == y[test]))
    return {averaging: np.array(values) for averaging, values in found.items()}


def scores_of_hypotheses(model, y, X):
    """Scores of the last hypothesis and of the longest survivor.

    Parameters
    ----------
    model : classifier
        A fitted "pam" with a kernel, more than two classes and ``averaging="voted"``.
    y : ndarray, shape (n_train,)
        The labels that it was fitted to.
    X : ndarray or CSR matrix, shape (n_samples, n_features)

    Returns
    -------
    list of two ndarrays of float64, shape (n_samples, n_classes)
    """
    support, theta = model.support_, model.theta_init_ / model.eta
    coefficients = np.zeros((2, len(model.classes_), len(support)))
    for index, (label, mistakes, votes) in enumerate(
        zip(model.classes_, model.mistakes_, model.votes_, strict=True)
    ):
        signs = np.where(y[support] == label, 1.0, -1.0)
        for kind, n_mistakes in enumerate((len(mistakes), int(np.argmax(votes)))):
            first = mistakes[:n_mistakes]
            coefficients[kind, index] = np.bincount(first, signs[first], len(support))
    thresholds = theta - model.sq_intercept_scaling_ * coefficients.sum(axis=2)
    scores = np.empty((2, X.shape[0], len(model.classes_)))
    for batch, products in model.kernel_.blocks(X, model.support_vectors_, support):
        scores[:, batch] = np.swapaxes(coefficients @ products, 1, 2) - thresholds[:, np.newaxis]
    return list(scores)
