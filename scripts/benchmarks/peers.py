"""Solvers of other packages, called as their users call them, and the problem that all of them solve.

Every solver here is an estimator with ``fit(X, y)``, `coef_` and `intercept_`, made by
``make(problem, tol, seed, max_iter)``. Their results are evaluated independently: `Problem` computes
objectives and bounds itself, from weights and dual variables.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import reporting
import soft_margins
from scipy import sparse
from sklearn.svm import LinearSVC

import margins


@dataclass(frozen=True)
class Problem:
    """min |w|^2 / 2 + C sum_k loss(w.y_k), over all w or, with `best_length`, over their directions.

    With an intercept it is the weight of one more feature of value 1, and penalised. Labels are -1, 1.
    With `best_length`, a weight vector is evaluated at its best multiple, 1 / (2 margin^2) with slack.
    """

    X: sparse.csr_matrix
    y: np.ndarray
    loss: str
    C: float
    intercept: bool = True
    best_length: bool = False

    def objective(self, classifier):
        """Return the objective of a solver's result."""
        w, bias = np.ravel(classifier.coef_), float(np.ravel(classifier.intercept_)[0])
        if self.best_length:
            margin = soft_margins.extended_margin(_Weights(self.X, self.y, w, bias), self.C)
            return 0.5 / margin**2 if margin > 0 else np.inf
        slack = np.maximum(1 - self.y * (self.X @ w + bias), 0)
        losses = slack if self.loss == "hinge" else np.square(slack)
        return float(0.5 * (w @ w + bias**2) + self.C * losses.sum())

    def dual(self, alpha):
        """Return a lower bound of the objective, from dual variables alpha >= 0."""
        a = self.X.T @ (alpha * self.y)
        sqnorm = a @ a + (float(alpha @ self.y) ** 2 if self.intercept else 0.0)
        most = np.inf
        if self.loss == "hinge":
            most = self.C / alpha.max() if alpha.any() else 0.0
        else:
            sqnorm += alpha @ alpha / (2 * self.C)
        # The best multiple of alpha that its bounds allow.
        scale = min(most, alpha.sum() / sqnorm) if sqnorm > 0 else 0.0
        return float(scale * alpha.sum() - 0.5 * scale**2 * sqnorm)


class _Weights:
    """A weight vector, with the attributes of a fit that `extended_margin` reads."""

    def __init__(self, X, signs, w, bias):
        self.classifier = self
        self.coef_, self.intercept_ = w[np.newaxis], np.array([bias])
        self.scores = signs * (X @ w + bias)


# ------------------------------------------------------------------------------------------- solvers


@dataclass(frozen=True)
class Solver:
    """A solver whose accuracy is determined by a tolerance.

    ``make(problem, tol, seed, max_iter)`` counts `max_iter` in our full epochs; ``solves(problem)`` says
    if it solves this one; `package` is what must be importable.
    """

    name: str
    make: Callable
    solves: Callable
    package: str = "sklearn"


def ours(name, problem, eps, seed, max_iter, **parameters):
    """Return an unfitted classifier of one of our algorithms for a problem."""
    algorithm = margins.get(name)
    if problem.loss == "hinge":
        parameters["loss"] = "hinge"
    return algorithm(
        C=problem.C,
        fit_intercept=problem.intercept,
        eps=eps,
        random_state=seed,
        max_iter=max_iter,
        **parameters,
    )


def solved_by(name, problem):
    """Return True if our algorithm of that name solves a problem."""
    return problem.loss == "squared_hinge" or "loss" in margins.get(name)().get_params()


def _linear_svc(dual):
    def make(problem, tol, seed, max_iter):
        return LinearSVC(
            loss=problem.loss,
            dual=dual,
            C=problem.C,
            fit_intercept=problem.intercept,
            tol=tol,
            max_iter=reporting.SVC_ITERATIONS * max_iter,
            random_state=seed,
        )

    return make


def _snap(problem, tol, seed, max_iter):
    from snapml import SupportVectorMachine

    return SupportVectorMachine(
        loss="hinge",
        regularizer=1 / problem.C,
        tol=tol,
        max_iter=reporting.SVC_ITERATIONS * max_iter,
        fit_intercept=problem.intercept,
        normalize=False,
        random_state=seed,
    )


LINEAR_SVC = (
    Solver("LinearSVC", _linear_svc(dual=True), lambda problem: True),
    Solver("LinearSVC, primal", _linear_svc(dual=False), lambda problem: problem.loss != "hinge"),
)
OTHERS = (Solver("Snap ML", _snap, lambda problem: problem.loss == "hinge", "snapml"),)


# Kernel classifiers with scikit-learn's parameters and attributes: their class, and its package.
KERNEL_PEERS = {"Intel": ("sklearnex.svm", "SVC"), "ThunderSVM": ("thundersvm", "SVC")}


def installed_kernel_peers():
    """Return importable kernel classifiers of other packages, and why others are missing: two dicts."""
    classes, missing = {}, {}
    for name, (package, kind) in KERNEL_PEERS.items():
        module, why = _imported(package)
        if why is None:
            classes[name] = getattr(module, kind)
        else:
            missing[name] = why
    return classes, missing


def installed():
    """Return the other solvers that can be imported, and why packages cannot: list of Solver, dict."""
    reasons = {solver.package: _imported(solver.package)[1] for solver in OTHERS}
    solvers = [solver for solver in OTHERS if reasons[solver.package] is None]
    return solvers, {package: why for package, why in reasons.items() if why is not None}


def _imported(package):
    """Return a package and None, or None and the reason why it cannot be imported."""
    try:
        return importlib.import_module(package), None
    except Exception as error:  # a broken package may raise any exception
        return None, f"{type(error).__name__}: {error}"
