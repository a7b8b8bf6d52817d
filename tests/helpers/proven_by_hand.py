"""Primal and dual values of a fit, computed by hand, and the optimum by the solvers of SciPy."""

import math

import numpy as np
import oracles
from scipy.optimize import lsq_linear, minimize

import margins


def sides(classifier, X, y, C, loss, index=0):
    """(primal, dual, alpha, w, sum alpha y) by hand: nothing but the fitted attributes and the data."""
    # In long double: what the sums of double lose must not look like a lie.
    rho = float(classifier.intercept_scaling) if classifier.fit_intercept else 0.0
    which = classifier.classes_[index if len(classifier.classes_) > 2 else 1]
    Y = oracles.data_of(X, np.where(np.asarray(y) == which, 1, -1), rho).astype(np.longdouble)
    w = classifier.coef_[index]
    if rho:
        w = np.append(w, classifier.intercept_[index] / rho)
    w, C = w.astype(np.longdouble), np.broadcast_to(C, len(Y)).astype(np.longdouble)
    alpha = classifier.dual_coef_[index].astype(np.longdouble)
    slack = np.maximum(1 - Y @ w, 0)
    a = alpha @ Y
    primal, dual = w @ w / 2, alpha.sum() - a @ a / 2
    if loss == "hinge":
        primal += (C * slack).sum()
    else:
        primal += (C * slack**2).sum()
        dual -= (alpha[C > 0] ** 2 / (4 * C[C > 0])).sum()
    return primal, dual, alpha, w, a


def optimum(X, y, C, loss, rho):
    """The least objective by SciPy's solvers: of the primal, or of its dual as least squares."""
    Y = oracles.data_of(X, y, rho)
    m, n = Y.shape
    if loss == "hinge":
        unit = C.sum()
        constraints = np.hstack([Y, np.eye(m)])  # of the weights and the slacks
        found = minimize(
            lambda z: (0.5 * z[:n] @ z[:n] + C @ z[n:]) / unit,
            np.append(np.zeros(n), np.ones(m)),
            jac=lambda z: np.append(z[:n], C) / unit,
            method="SLSQP",
            bounds=[(None, None)] * n + [(0, None)] * m,
            constraints={
                "type": "ineq",
                "fun": lambda z: constraints @ z - 1,
                "jac": lambda z: constraints,
            },
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        w = found.x[:n]
        return w @ w / 2 + C @ np.maximum(1 - Y @ w, 0)
    # The shortest sum of the samples with slack terms, with multiplicities of sum 1, but for the factor.
    A = np.vstack([Y.T, np.diag(1 / np.sqrt(2 * C)), np.ones(m)])
    beta = lsq_linear(A, np.append(np.zeros(len(A) - 1), 1), (0, math.inf), method="bvls", tol=1e-15).x
    return beta.sum() ** 2 / (2 * ((A[:-1] @ beta) ** 2).sum())


def fit(X, y, **params):
    return margins.MarginClassifier(**{"random_state": 0, "eps": 1e-6, **params}).fit(X, y)
