"""Scores of test sets along C: folds of one training set, whose rows are shared and never copied."""

import copy
from typing import NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from margins.certificate import Certificate
from margins.data.binary_data import rows_of
from margins.estimators.along_c import TrainingSet
from margins.estimators.multiclass import one_vs_rest, positive_codes, seeds_of
from margins.kernels._columns import inner_products
from margins.model_selection.scoring import Decided


class FoldFit(NamedTuple):
    """What is proven of one binary problem of one fold at one C.

    Attributes
    ----------
    certificate : Certificate
    converged : bool
    n_iter : int
    solver : str
    """

    certificate: Certificate
    converged: bool
    n_iter: int
    solver: str


class _FoldPath:
    """The fits of one fold along C, and the scores of its test set."""

    def __init__(self, training_set, test, n_cs, keeps_models):
        self.training_set, self.test = training_set, test
        self.classes = training_set.estimator.classes_
        self.codes = positive_codes(len(self.classes))
        self.scores = np.empty((n_cs, len(test), len(self.codes)))
        self.fits = [[None] * len(self.codes) for _ in range(n_cs)]
        self.runs = [[None] * len(self.codes) for _ in range(n_cs)] if keeps_models else None

    def train(self, problem, seed, Cs, test_rows):
        """Train one binary problem along C, and compute its scores of the test set."""
        is_kernel = self.training_set.is_kernel
        coefs = None if is_kernel else np.empty((len(Cs), test_rows.n_features))

        def visit(i, estimator, run):
            model, scale = run.hypothesis, estimator._scale(run)
            self.scores[i, :, problem] = scale * (run.data.sqrho * model.label_sum - run.theta)
            if is_kernel:  # training has summed over the support vectors, for all samples
                self.scores[i, :, problem] += scale * run.weights.weights[self.test]
            else:
                np.multiply(model.weights, scale, out=coefs[i])
            self.fits[i][problem] = FoldFit(
                run.certificate, run.converged, run.n_epochs, run.solver_path
            )
            if self.runs is not None:
                self.runs[i][problem] = run

        self.training_set.train(self.codes[problem], seed, Cs, visit)
        if not is_kernel:  # one pass for all values of C
            self.scores[:, :, problem] += inner_products(test_rows, rows_of(coefs)).T

    def metrics(self, scoring, X, y, Cs):
        """The metric of the test set for every C: ndarray of float64, shape (n_cs,)."""
        X_test = None if self.runs is None else _safe_indexing(X, self.test)
        y_test, values = y[self.test], np.empty(len(Cs))
        for i, C in enumerate(Cs):
            scores = self.scores[i, :, 0] if len(self.codes) == 1 else self.scores[i]
            if self.runs is None:
                model = Decided(scores, self.classes)
            else:
                model = copy.copy(self.training_set.estimator)
                model.C = float(C)
                model._collect(self.runs[i], self.training_set.samples)
            values[i] = scoring.of(model, X_test, y_test)[scoring.refit]
        return values


def scores_along_c(training_set, X, y, folds, Cs, scoring, sample_weight=None, n_jobs=None):
    """Train every fold along C, and score its test set.

    Parameters
    ----------
    training_set : TrainingSet
        Of all samples, those of weight 0 included.
    X : ndarray or CSR matrix, shape (n_samples, n_features)
        Read only by metrics that need more than scores.
    y : ndarray, shape (n_samples,)
    folds : list of (ndarray of int64, ndarray of int64)
        Training and test samples.
    Cs : ndarray of float64, shape (n_cs,)
        Ascending.
    scoring : margins.model_selection.scoring.Scoring
    sample_weight : ndarray of float, shape (n_samples,), optional
    n_jobs : int, optional
        Threads, each of which trains one class of one fold at a time.

    Returns
    -------
    scores : ndarray of float64, shape (n_folds, n_cs)
    fits : list of list of list of FoldFit
        For each fold, C and binary problem.
    """
    keeps_models = scoring.reason_against_lockstep is not None
    paths = []
    for rows, test in folds:
        part = training_set.part(rows, sample_weight)
        part.check_penalties(Cs)
        paths.append(_FoldPath(part, test, len(Cs), keeps_models))
    features = training_set.rows if training_set.features is None else training_set.features
    test_rows = [None if training_set.is_kernel else features.part(test) for _, test in folds]
    _share_moments(training_set, paths)
    tasks = [(f, problem) for f, path in enumerate(paths) for problem in range(len(path.codes))]

    def train(index, seed):
        f, problem = tasks[index]
        paths[f].train(problem, seeds[f][problem], Cs, test_rows[f])

    random_state = training_set.estimator.random_state
    if isinstance(random_state, np.random.RandomState):
        seeds = [seeds_of(random_state, len(path.codes)) for path in paths]
    else:
        drawn = seeds_of(random_state, max(len(path.codes) for path in paths))
        seeds = [drawn] * len(paths)
    # Threads would share the cache of a kernel's rows.
    one_vs_rest(train, [0] * len(tasks), 1 if training_set.is_kernel else n_jobs)
    scores = np.array([path.metrics(scoring, X, y, Cs) for path in paths])
    return scores, [path.fits for path in paths]


def _share_moments(training_set, paths):
    """Sum the moments of all samples once, and subtract those of each fold's other samples."""
    if not all(path.training_set.has_moments for path in paths):
        return
    n_samples = training_set.samples.n_samples
    times = [np.bincount(path.training_set.samples.kept, minlength=n_samples) for path in paths]
    if max(each.max() for each in times) > 1:  # a fold repeats samples
        for path in paths:
            path.training_set.moments = path.training_set.sum_moments()
        return
    others = [_moments_of(training_set, np.flatnonzero(each == 0)) for each in times]
    is_partition = np.all(sum(times) == len(times) - 1)  # every sample is in one test set
    whole = np.sum(others, axis=0) if is_partition else training_set.sum_moments()
    for path, moments in zip(paths, others, strict=True):
        path.training_set.moments = whole - moments


def _moments_of(training_set, indices):
    samples = training_set.samples._replace(codes=training_set.samples.codes[indices], weight=1.0)
    rows, sqnorms = training_set.rows.part(indices), training_set.sqnorms[indices]
    return TrainingSet(training_set.estimator, samples, rows, None, sqnorms).sum_moments()
