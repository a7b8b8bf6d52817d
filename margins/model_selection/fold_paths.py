"""Training of folds along C, and scores of their test sets; folds share rows without copies."""

import copy
from typing import NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from margins.certificate import Certificate
from margins.data.binary_data import rows_of
from margins.data.permutations import seeds_of
from margins.data.validation import classes_without, sample_weights
from margins.estimators.messages import Unproven
from margins.estimators.names import MessageName
from margins.kernels._columns import inner_products
from margins.linalg.threads import run_tasks
from margins.model_selection.scoring import Decided
from margins.text import percent
from margins.training.along_c import AlongC, moments_of, shares_moments
from margins.training.fit import Fit, model_of


class FoldFit(NamedTuple):
    """The proven result of one binary problem of one fold at one C."""

    certificate: Certificate
    converged: bool
    n_iter: int
    solver: str
    name: str = ""  # name of the class or pair of classes; empty with two classes


def unproven_of_folds(who, fold_fits, settings):
    """Return the Unproven of the fits of folds that did not converge; None if all converged."""
    unproven = {
        (f"fold {fold}, {setting}", problem.name): problem.certificate
        for fold, of_fold in enumerate(fold_fits)
        for setting, fits in zip(settings, of_fold, strict=True)
        for problem in fits
        if not problem.converged
    }
    if not unproven:
        return None
    worst, certificate = max(unproven.items(), key=lambda item: item[1].gap)
    text = (
        f"{who} did not converge in {len(unproven)} fits of folds: the largest relative duality gap is "
        f"{certificate.gap:.3g}, with {percent(certificate.improvement)} of the possible improvement "
        f"over a constant classifier, in {', '.join(filter(None, worst))}. `fold_fits_` has all fits."
    )
    return Unproven(certificate.gap, text)


class FoldPath:
    """The fits of one fold along C, and the scores of its test set."""

    def __init__(self, estimator, paths, test, Cs, keeps_models):
        self.estimator, self.paths, self.test, self.Cs = estimator, paths, test, Cs
        self.training_set = paths.training_set
        self.scheme = self.training_set.scheme
        self.n_problems = self.scheme.n_problems
        self.scores = np.empty((len(Cs), len(test), self.n_problems))
        self.fits = [[None] * self.n_problems for _ in Cs]
        self.outcomes = [[None] * self.n_problems for _ in Cs] if keeps_models else None

    def train(self, problem, seed, test_rows):
        """Train one binary problem along C, and compute its scores of the test set."""
        is_kernel = self.training_set.is_kernel
        name = self.scheme.name(self.training_set.classes.tolist(), problem)
        coefs = None if is_kernel else np.empty((len(self.Cs), test_rows.n_features))

        def visit(i, outcome):
            if is_kernel:  # training already summed over the support vectors, for all samples
                sums = outcome.scale * outcome.weights.weights[self.test]
                self.scores[i, :, problem] = outcome.intercept() + sums
            else:
                model = model_of([outcome], outcome.specification, self.training_set, is_packed=True)
                self.scores[i, :, problem], coefs[i] = model.intercept, model.coef
            self.fits[i][problem] = FoldFit(
                outcome.certificate, outcome.converged, outcome.n_epochs, outcome.solver_path, name
            )
            if self.outcomes is not None:
                self.outcomes[i][problem] = outcome

        # With a kernel, training knows the products with the samples outside a problem, too.
        self.paths.train(problem, seed, self.Cs, visit, same_rows=is_kernel)
        if not is_kernel:  # one pass for all values of C
            self.scores[:, :, problem] += inner_products(test_rows, rows_of(coefs)).T

    def decision(self, i):
        """Return the test set's scores with the i-th C: float64, shape (n_test, n_columns)."""
        return self.scheme.decision(self.scores[i]).reshape(len(self.test), -1)

    def metrics(self, scoring, X, y):
        """Return the metric of the test set for every C: ndarray of float64, shape (n_cs,)."""
        X_test = None if self.outcomes is None else _safe_indexing(X, self.test)
        y_test, values = y[self.test], np.empty(len(self.Cs))
        for i, C in enumerate(self.Cs):
            if self.outcomes is None:
                classes, scores = self.training_set.classes, self.scores[i]
                labels = self.scheme.predict(scores, classes)
                model = Decided(self.scheme.decision(scores), classes, labels)
            else:
                model = copy.copy(self.estimator)
                model.C = float(C)
                outcomes = self.outcomes[i]
                model.set_fitted(Fit(self.training_set, outcomes[0].specification, outcomes))
            values[i] = scoring.of(model, X_test, y_test)[scoring.refit]
        return values


def score_folds(estimator, training_set, X, y, folds, Cs, scoring, sample_weight=None, n_jobs=None):
    """Train every fold along C, and score its test set."""
    keeps_models = scoring.reason_against_lockstep is not None
    specification = estimator.specification(training_set.sqnorms)
    parts = [_part(estimator, training_set, rows, sample_weight) for rows, _ in folds]
    moments = _moments_of_folds(training_set, parts, specification, estimator.solver)
    paths = [
        FoldPath(estimator, AlongC(part, specification, estimator.plan, sums), test, Cs, keeps_models)
        for part, sums, (_, test) in zip(parts, moments, folds, strict=True)
    ]
    for path in paths:
        path.paths.check_penalties(Cs)
    test_rows = [
        None if training_set.is_kernel else training_set.original.part(test) for _, test in folds
    ]
    tasks = [(f, problem) for f, path in enumerate(paths) for problem in range(path.n_problems)]

    def train(index, seed):
        f, problem = tasks[index]
        paths[f].train(problem, seeds[f][problem], test_rows[f])

    random_state = estimator.random_state
    if isinstance(random_state, np.random.RandomState):
        seeds = [seeds_of(random_state, path.n_problems) for path in paths]
    else:
        drawn = seeds_of(random_state, max(path.n_problems for path in paths))
        seeds = [drawn] * len(paths)
    # With a kernel, one at a time, because threads would share the cache of its rows.
    names = [f"fold {f}" for f, _ in tasks]
    run_tasks(train, [0] * len(tasks), n_jobs, in_turn=training_set.is_kernel, names=names)
    scores = np.array([path.metrics(scoring, X, y) for path in paths])
    return scores, [path.fits for path in paths], paths


def _part(estimator, training_set, train, sample_weight):
    """Return the TrainingSet of a fold, with the classes that it contains."""
    name, classes = MessageName(estimator, "fit"), training_set.classes
    codes = training_set.samples.codes[train]
    classes, codes = present_classes(classes, codes)
    weight_of_fold = None if sample_weight is None else sample_weight[train]
    weight = sample_weights(name, codes, codes, classes, weight_of_fold, estimator.class_weight)
    if isinstance(weight, np.ndarray) and not weight.all():
        positive = np.flatnonzero(weight)
        train, codes, weight = train[positive], codes[positive], weight[positive]
        classes_without(name, np.bincount(codes, minlength=len(classes)), classes)
        classes, codes = present_classes(classes, codes)
    return training_set.part(train, weight, classes, codes)


def present_classes(classes, codes):
    """Return the classes of some samples, and the samples' indices in these classes."""
    present = np.flatnonzero(np.bincount(codes, minlength=len(classes)))
    if len(present) == len(classes):
        return classes, codes
    return classes[present], np.searchsorted(present, codes)


def _moments_of_folds(training_set, parts, specification, solver):
    """Return the moments of each fold: all samples' moments minus the other samples' moments."""
    if not all(shares_moments(part, specification, solver) for part in parts):
        return [None] * len(parts)
    n_samples = training_set.samples.n_samples
    times = [np.bincount(part.samples.kept, minlength=n_samples) for part in parts]
    if max(counts.max() for counts in times) > 1:  # a fold repeats samples
        return [moments_of(part, specification) for part in parts]
    complements = [
        moments_of(training_set.part(np.flatnonzero(counts == 0), 1.0), specification)
        for counts in times
    ]
    is_partition = np.all(sum(times) == len(times) - 1)  # every sample is in one test set
    whole = np.sum(complements, axis=0) if is_partition else moments_of(training_set, specification)
    return [whole - moments for moments in complements]
