"""Small dual problems of both losses and both intercepts, with their exact solutions."""

import numpy as np

import margins
from margins.decremental.problem import BoxProblem, Features
from margins.decremental.solution import solution_of

LOSSES = ("squared_hinge", "hinge")
KINDS = [(loss, is_free) for loss in LOSSES for is_free in (False, True)]


def clouds(seed, m=40, n=3, noise=1.0):
    """Samples of two classes that overlap, and their labels 1 and -1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    signs = np.where(X.sum(axis=1) + noise * rng.normal(size=m) > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return X, signs


def problem_of(X, signs, loss, is_free, C=1.0, inner=None):
    """The dual problem of samples, all of penalty C."""
    if inner is None:
        inner = Features(X, 0.0 if is_free else 1.0)
    return BoxProblem(inner, signs, np.full(len(signs), C), loss == "squared_hinge", is_free)


def classifier_of(loss, is_free, C=1.0):
    """The classifier of the same problem."""
    return margins.MarginClassifier(
        C=C, loss=loss, penalize_intercept=not is_free, eps=1e-9, random_state=0
    )


def solved(X, signs, loss, is_free, C=1.0, inner=None):
    """The exact solution of a problem, from a fit."""
    classifier = classifier_of(loss, is_free, C).fit(X, signs)
    problem = problem_of(X, signs, loss, is_free, C, inner)
    return solution_of(problem, np.abs(classifier.dual_coef_[0]), float(classifier.intercept_[0]))
