"""Checks of proofs: certificates of small problems with a known solution, and termination."""

import math

import numpy as np

from margins.losses import loss_of
from margins.testing.algorithms.fits import PROVING, check, make
from margins.testing.reports import require
from margins.testing.truth import (
    least_objective,
    maximum_margin,
    objective,
    problems,
    separable_problem,
)

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
    optimum = None  # for the hinge loss there is no oracle
    if loss != "hinge" or math.isinf(problem.C):
        gamma = maximum_margin(problem.data(rho, extended=True))
        optimum = 0.5 / gamma**2 if gamma else math.inf
        above, below = gamma * (1 + SLACK) + SLACK * (not gamma), gamma * (1 - SLACK)
        require(certificate.margin <= above, f"margin {certificate.margin}", f"at most {gamma}")
        require(
            certificate.upper_bound >= below,
            f"upper_bound {certificate.upper_bound}",
            f"at least the maximum margin, {gamma}",
        )
        require(
            certificate.primal >= optimum * (1 - SLACK),
            f"primal {certificate.primal}",
            f"at least the optimum, {optimum}",
        )
        require(
            certificate.dual <= optimum * (1 + SLACK),
            f"dual {certificate.dual}",
            f"at most the optimum, {optimum}",
        )
        if gamma:
            truth = max(certificate.margin, 0) / gamma
            require(
                certificate.fraction <= truth * (1 + SLACK),
                f"fraction {certificate.fraction}",
                f"at most {truth}, the stated margin divided by the maximum margin",
            )
    if certificate.upper_bound > 0 and math.isfinite(certificate.upper_bound):
        ratio = max(certificate.margin, 0) / certificate.upper_bound
        require(
            abs(certificate.fraction - ratio) <= SLACK,
            f"fraction {certificate.fraction}",
            f"margin / upper_bound, {ratio}",
        )
    require(
        0 <= certificate.fraction <= 1 and certificate.gap >= 0,
        f"fraction {certificate.fraction} and gap {certificate.gap}",
        "0 <= fraction <= 1 and gap >= 0",
    )
    require(
        0 <= certificate.improvement <= 1,
        f"improvement {certificate.improvement}",
        "0 <= improvement <= 1",
    )
    if certificate.dual > 0:
        gap = certificate.primal / certificate.dual - 1
        same = gap == certificate.gap or abs(gap - certificate.gap) <= SLACK * (1 + abs(gap))
        require(same, f"gap {certificate.gap}", f"primal / dual - 1, {gap}")
    if not hasattr(classifier, "coef_"):
        return
    # The weights must attain the certificate's primal value and margin.
    w, b = classifier.coef_[0], classifier.intercept_[0]
    weights = np.append(w, b / rho if rho else 0.0)
    require(np.isfinite(weights).all(), f"coef_ and intercept_ {weights}", "finite numbers")
    attained = objective(data, weights, problem.C, loss)
    require(
        attained <= certificate.primal * (1 + SLACK),
        f"primal {certificate.primal}",
        f"at least {attained}, what coef_ and intercept_ attain",
    )
    best = least_objective(data, weights, problem.C, loss)
    require(
        best <= certificate.rescaled_primal * (1 + SLACK),
        f"margin {certificate.margin}",
        f"at most {1 / math.sqrt(2 * best)}, the margin at the best multiple of coef_ and intercept_",
    )
    require(
        certificate.dual <= attained * (1 + SLACK),
        f"dual {certificate.dual}",
        f"at most {attained}, what coef_ and intercept_ attain",
    )
    if math.isinf(problem.C) and weights.any():
        margin = float((data @ weights).min() / np.linalg.norm(weights))
        require(
            certificate.margin <= margin + SLACK * (1 + abs(margin)),
            f"margin {certificate.margin}",
            f"at most {margin}, the margin of coef_ and intercept_",
        )


@check
def check_certificates(algorithm, params):
    """Every certificate is valid, whenever a fit ends, for small problems with known maximum margin."""
    for problem in problems():
        for max_iter in (1, 3, 50):
            classifier = _fitted(algorithm, params, problem, max_iter=max_iter)
            if classifier is None:
                break
            certificates = getattr(classifier, "certificates_", None)
            require(
                isinstance(certificates, list) and len(certificates) == 1,
                f"certificates_ = {certificates!r}",
                "a list of one certificate for two classes",
            )
            _require_true(classifier, problem, certificates[0])
            if isinstance(classifier, PROVING) and classifier.converged_:
                loss = getattr(classifier, "loss", "squared_hinge")
                require(
                    loss_of(loss, 1.0).is_proven(certificates[0], classifier.eps),
                    f"converged_ with {certificates[0]!r}",
                    f"accuracy eps = {classifier.eps} proven, or converged_ = False",
                )


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
            require(
                classifier.converged_,
                f"converged_ = False with {settings}",
                "True, because the data are separable",
            )
            loss = getattr(classifier, "loss", "squared_hinge")
            require(
                loss_of(loss, 1.0).is_proven(certificate, classifier.eps),
                f"{certificate!r} with {settings}",
                "eps proven",
            )
            _require_true(classifier, problem, certificate)
