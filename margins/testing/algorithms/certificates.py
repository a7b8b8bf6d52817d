"""Checks of proofs: certificates of small problems with a known solution, and termination."""

import math

import numpy as np

from margins.losses import loss_of
from margins.testing.algorithms.fits import PROVING, check, make
from margins.testing.reports import require
from margins.testing.truth import least_objective, maximum_margin, objective, problems, separable_problem

SLACK = 1e-9  # relative rounding error in comparisons with exact values


def _fitted(algorithm, params, problem, **needed):
    """Return a fit to a problem with intercept_scaling 1; None if its C is not allowed."""
    needed = {"fit_intercept": True, "intercept_scaling": 1.0, "random_state": 0, **needed}
    if "C" not in params:
        needed["C"] = problem.C
    classifier = make(algorithm, params, **needed)
    try:
        return classifier.fit(problem.X, problem.y)
    except ValueError:
        if math.isinf(problem.C) and "C" not in params:
            return None
        raise


def _rho(classifier):
    """Return the value of the augmenting feature, 0 without a bias."""
    scaling = getattr(classifier, "intercept_scaling", None)
    return (1.0 if scaling is None else scaling) if getattr(classifier, "fit_intercept", True) else 0.0


def _require_true(classifier, problem, certificate):
    """Raise Violation if a certificate contradicts the exact solution."""
    problem = problem._replace(C=getattr(classifier, "C", problem.C))
    loss = getattr(classifier, "loss", "squared_hinge")
    rho = _rho(classifier)
    data = problem.data(rho)
    names = "margin", "upper_bound", "primal", "dual", "fraction", "gap"
    margin, upper_bound, primal, dual, fraction, gap = (getattr(certificate, name) for name in names)
    optimum = None  # for the hinge loss there is no oracle
    if loss != "hinge" or math.isinf(problem.C):
        gamma = maximum_margin(problem.data(rho, extended=True))
        optimum = 0.5 / gamma**2 if gamma else math.inf
        above, below = gamma * (1 + SLACK) + SLACK * (not gamma), gamma * (1 - SLACK)
        require(margin <= above, f"margin {margin}", f"at most {gamma}")
        got = f"upper_bound {upper_bound}"
        require(upper_bound >= below, got, f"at least the maximum margin, {gamma}")
        is_possible = primal >= optimum * (1 - SLACK)
        require(is_possible, f"primal {primal}", f"at least the optimum, {optimum}")
        is_possible = dual <= optimum * (1 + SLACK)
        require(is_possible, f"dual {dual}", f"at most the optimum, {optimum}")
        if gamma:
            truth = max(margin, 0) / gamma
            expected = f"at most {truth}, the stated margin divided by the maximum margin"
            require(fraction <= truth * (1 + SLACK), f"fraction {fraction}", expected)
    if upper_bound > 0 and math.isfinite(upper_bound):
        ratio = max(margin, 0) / upper_bound
        is_ratio = abs(fraction - ratio) <= SLACK
        require(is_ratio, f"fraction {fraction}", f"margin / upper_bound, {ratio}")
    got, expected = f"fraction {fraction} and gap {gap}", "0 <= fraction <= 1 and gap >= 0"
    require(0 <= fraction <= 1 and gap >= 0, got, expected)
    is_share = 0 <= certificate.improvement <= 1
    require(is_share, f"improvement {certificate.improvement}", "0 <= improvement <= 1")
    if dual > 0:
        ratio = primal / dual - 1
        same = ratio == gap or abs(ratio - gap) <= SLACK * (1 + abs(ratio))
        require(same, f"gap {gap}", f"primal / dual - 1, {ratio}")
    if not hasattr(classifier, "coef_"):
        return
    # The weights must attain the certificate's primal value and margin.
    w, b = classifier.coef_[0], classifier.intercept_[0]
    weights = np.append(w, b / rho if rho else 0.0)
    require(np.isfinite(weights).all(), f"coef_ and intercept_ {weights}", "finite numbers")
    attained = objective(data, weights, problem.C, loss)
    value = f"{attained}, what coef_ and intercept_ attain"
    require(attained <= primal * (1 + SLACK), f"primal {primal}", f"at least {value}")
    best = least_objective(data, weights, problem.C, loss)
    limit = f"{1 / math.sqrt(2 * best)}, the margin at the best multiple of coef_ and intercept_"
    is_attained = best <= certificate.rescaled_primal * (1 + SLACK)
    require(is_attained, f"margin {margin}", f"at most {limit}")
    require(dual <= attained * (1 + SLACK), f"dual {dual}", f"at most {value}")
    if math.isinf(problem.C) and weights.any():
        own = float((data @ weights).min() / np.linalg.norm(weights))
        expected = f"at most {own}, the margin of coef_ and intercept_"
        require(margin <= own + SLACK * (1 + abs(own)), f"margin {margin}", expected)


@check
def check_certificates(algorithm, params):
    """Every certificate is valid, whenever a fit ends, for small problems with known maximum margin."""
    for problem in problems():
        for max_iter in (1, 3, 50):
            classifier = _fitted(algorithm, params, problem, max_iter=max_iter)
            if classifier is None:
                break
            certificates = getattr(classifier, "certificates_", None)
            is_list = isinstance(certificates, list) and len(certificates) == 1
            expected = "a list of one certificate for two classes"
            require(is_list, f"certificates_ = {certificates!r}", expected)
            _require_true(classifier, problem, certificates[0])
            if isinstance(classifier, PROVING) and classifier.converged_:
                expected = f"accuracy eps = {classifier.eps} proven, or converged_ = False"
                _require_proven(classifier, f"converged_ with {certificates[0]!r}", expected)


def _require_proven(classifier, got, expected):
    loss = loss_of(getattr(classifier, "loss", "squared_hinge"), 1.0)
    require(loss.is_proven(classifier.certificates_[0], classifier.eps), got, expected)


@check
def check_termination(algorithm, params):
    """A maximum-margin classifier ends on separable data with its accuracy proven."""
    if not issubclass(algorithm, PROVING):
        return
    for C in (math.inf, 10.0):
        for eps in (0.5, 0.1, 0.02):
            problem = separable_problem(C)
            classifier = _fitted(algorithm, params, problem, eps=eps, max_iter=20_000)
            if classifier is None:
                continue
            (certificate,) = classifier.certificates_
            settings = f"C={classifier.C} and eps={classifier.eps}"
            got, expected = f"converged_ = False with {settings}", "True, because the data are separable"
            require(classifier.converged_, got, expected)
            _require_proven(classifier, f"{certificate!r} with {settings}", "eps proven")
            _require_true(classifier, problem, certificate)
