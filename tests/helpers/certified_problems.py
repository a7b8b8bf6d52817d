"""Small binary problems with all that is true about them, and the tests of a certificate against it.

The truth comes from oracles that share nothing with the package: the maximum margin is the distance
of the origin from the samples' convex hull, the optimum of the L1-SVM a long dual coordinate descent.
"""

import dataclasses
import functools
import math
from dataclasses import dataclass

import exact_optima
import numpy as np
import oracles
import pytest
from algorithm_groups import ALGORITHMS, STOPPING, UNSCALED
from hypothesis import assume, reject
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

PROVING = ["auto", *STOPPING]  # MarginClassifier always ends with its proof
SLACK = 1e-9  # relative, of the truths and of what is recomputed
ENOUGH = 1e-6  # relative, of an objective at the best scale


@dataclass
class Problem:
    """A binary problem, and all that is true about it. C inf: the hard margin."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    rho: float = 1.0
    C: float = 1.0
    seed: int = 0
    loss: str = "squared_hinge"

    def fit(self, name, **params):
        algorithm = ALGORITHMS[name]
        declared = {field.name for field in dataclasses.fields(algorithm)}
        if name == "pfm" and math.isinf(self.C):
            params.setdefault("gamma", 0.1)
        if "loss" in declared:
            params.setdefault("loss", self.loss)
        classifier = algorithm(random_state=self.seed, **self.params, **params)
        return classifier.fit(self.X, self.y, self.weight)

    def of(self, name):
        """This problem with the loss that the algorithm has, if it has no other."""
        return dataclasses.replace(self, loss="hinge") if ALGORITHMS[name].loss == "hinge" else self

    @property
    def params(self):
        return {"C": self.C, "fit_intercept": self.rho > 0, "intercept_scaling": self.rho or 1.0}

    @property
    def hard(self):
        return math.isinf(self.C)

    @property
    def C_k(self):
        return self.C * (np.ones(len(self.y)) if self.weight is None else self.weight)

    @property
    def data(self):
        """The samples with bias term, without slack terms."""
        return oracles.data_of(self.X, self.y, self.rho)

    @functools.cached_property
    def maximum_margin(self):
        """Of the samples with slack terms; 0 if nothing separates them."""
        return exact_optima.maximum_margin(oracles.data_of(self.X, self.y, self.rho, 0.5 / self.C_k))

    @property
    def constant_objective(self):
        """The least objective of a constant classifier."""
        if self.hard:
            return math.inf
        zero = np.zeros(self.data.shape[1])
        if not self.rho:
            return self.objective(zero)
        intercept = np.append(zero[1:], 1 / self.rho)
        best = minimize_scalar(
            lambda b: self.objective(b * intercept),
            bounds=(-1, 1),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return min(best.fun, self.objective(intercept), self.objective(-intercept))

    @property
    def optimum(self):
        """The least objective; inf if nothing is feasible."""
        if self.loss == "hinge" and not self.hard:
            try:
                return exact_optima.l1_svm_optimum(self.data, self.C_k)[0]
            except ArithmeticError:  # one in a thousand, with a large C, takes it too long
                reject()
        gamma = self.maximum_margin
        return 0.5 / gamma**2 if gamma > 0 else math.inf

    def weights(self, classifier):
        """The augmented weight vector that the coefficients as returned stand for.

        Of the voted perceptron, which returns none, the last hypothesis, of which its certificate is.
        """
        if hasattr(classifier, "mistakes_"):
            mistakes = classifier.support_[classifier.mistakes_[0]]
            weight = np.ones(len(self.y)) if self.weight is None else self.weight / self.weight.mean()
            added = classifier.eta * weight[mistakes] @ self.data[mistakes]
            if self.rho:
                added[-1] -= classifier.theta_init_ / self.rho
            return added
        w, b = classifier.coef_[0], classifier.intercept_[0]
        return np.append(w, b / self.rho) if self.rho else w

    def objective(self, w):
        """What an augmented weight vector costs, by definition."""
        products = self.data @ w
        if self.hard:
            return 0.5 * w @ w if products.min() >= 1 - SLACK else math.inf
        slack = np.maximum(1 - products, 0)
        return 0.5 * w @ w + self.C_k @ (slack if self.loss == "hinge" else slack**2)

    def rounding_of_dual(self, alpha):
        """By how much the sum of the alpha_k y_k, as it was rounded, may have lowered what is stated."""
        unit = (np.sqrt(len(alpha)) + 8) * np.finfo(float).eps / 2
        error = unit * float(alpha @ np.linalg.norm(self.data, axis=1))
        return 2 * error * (float(np.linalg.norm(alpha @ self.data)) + error)

    def dual_objective(self, alpha):
        combination = alpha @ self.data
        value = alpha.sum() - 0.5 * combination @ combination
        if self.hard or self.loss == "hinge":
            return value
        return value - 0.5 * np.sum(alpha**2 / (2 * self.C_k))


# Hypothesis chooses the sizes and the settings, a seeded generator the numbers: left to itself,
# Hypothesis prefers matrices of zeros and ones, on which nothing takes more than a few updates.
@st.composite
def problems(draw, C=(1.0, 100.0, math.inf), loss="squared_hinge", separable=None):
    """Draw small problems, integer or real, separable or not, with a bias or without."""
    seed = draw(st.integers(0, 10**6))
    m, d = draw(st.integers(2, 10)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (m, d)).astype(float)
    if draw(st.booleans()):
        X += rng.normal(scale=0.3, size=(m, d))
    rho = draw(st.sampled_from([0.0, 1.0, 2.5]))
    if rho == 0:
        X[~X.any(axis=1), 0] = 1  # without a bias nothing classifies a zero row
    by_plane = X @ rng.normal(size=d) + rho * rng.normal() > 0
    if separable is None:
        separable = draw(st.booleans())
    y = np.where(by_plane if separable else rng.random(m) < 0.5, 1, -1)
    assume(len(set(y)) == 2)
    weight = rng.choice([0.25, 1.0, 3.0], m) if draw(st.booleans()) else None
    penalty = draw(st.sampled_from(C))
    if math.isinf(penalty):
        weight = None
    return Problem(X, y, weight, rho, penalty, seed % 1000, loss)


accuracies = st.sampled_from([0.5, 0.1, 0.01, 0.001])


def assert_states_objective(problem, classifier, w):
    """What the certificate states is what the coefficients, as returned, cost."""
    (certificate,) = classifier.certificates_
    objective = problem.objective(w)
    assert objective <= certificate.primal * (1 + SLACK)
    assert certificate.primal == pytest.approx(objective, rel=SLACK)
    if problem.hard and math.isinf(objective):
        achieved = (problem.data @ w).min() / np.linalg.norm(w) if w.any() else 0.0
        assert certificate.margin == pytest.approx(achieved, rel=SLACK, abs=SLACK)
        assert certificate.margin <= SLACK
    elif math.isfinite(certificate.primal):
        assert certificate.margin == pytest.approx(1 / math.sqrt(2 * certificate.primal), rel=SLACK)
    if not problem.hard and problem.loss == "squared_hinge":
        best = exact_optima.best_multiple(problem.data @ w, w @ w, problem.C_k)
        assert objective <= best * (1 + ENOUGH)  # "weights at the scale of least objective"


def assert_states_direction(problem, classifier, w):
    """The certificate states what the coefficients cost, and the margin of their best multiple."""
    (certificate,) = classifier.certificates_
    products, sqnorm = problem.data @ w, w @ w
    is_infeasible = problem.hard and certificate.primal == math.inf and products.min() < 1 + SLACK
    if certificate.margin > -math.inf and not is_infeasible:  # else nothing is stated
        assert certificate.primal == pytest.approx(problem.objective(w), rel=SLACK)
    if problem.hard:
        achieved = products.min() / math.sqrt(sqnorm) if sqnorm else 0.0
        # Of a run that has come back to 0 nothing is stated: its hypothesis is a mere threshold.
        if certificate.margin > -math.inf:
            assert certificate.margin == pytest.approx(achieved, rel=SLACK, abs=SLACK)
        else:
            assert achieved <= 0
        if certificate.margin <= 0:
            assert certificate.primal == math.inf
    else:
        best = exact_optima.best_multiple(products, sqnorm, problem.C_k)
        assert certificate.rescaled_primal >= best * (1 - SLACK)
        assert certificate.rescaled_primal <= best * (1 + ENOUGH) or certificate.primal == math.inf


def assert_true(problem, classifier, optimum=None):
    """Every number that the certificate and the dual variables state, against the truth."""
    (certificate,) = classifier.certificates_
    w = problem.weights(classifier)
    assert np.isfinite(w).all()
    optimum = problem.optimum if optimum is None else optimum

    if isinstance(classifier, tuple(ALGORITHMS[name] for name in UNSCALED)):
        assert_states_direction(problem, classifier, w)
        objective = certificate.primal
    else:
        assert_states_objective(problem, classifier, w)
        objective = problem.objective(w)

    # What is stated is true.
    truth = 1 / math.sqrt(2 * optimum)
    assert certificate.margin <= truth * (1 + SLACK) + (SLACK if math.isinf(optimum) else 0)
    assert certificate.upper_bound >= truth * (1 - SLACK)
    assert certificate.primal >= optimum * (1 - SLACK)
    assert certificate.dual <= optimum * (1 + SLACK)
    assert certificate.fraction <= max(certificate.margin, 0) / truth * (1 + SLACK) if truth else True
    assert 0 <= certificate.fraction <= 1
    assert certificate.gap >= (objective / optimum - 1) * (1 - SLACK) - SLACK if truth else True
    assert certificate.gap >= 0

    constant = problem.constant_objective
    if math.isfinite(constant) and math.isfinite(objective):
        won, possible = constant - objective, constant - optimum
        assert certificate.improvement * possible <= max(won, 0) + 1e-6 * constant
    assert 0 <= certificate.improvement <= 1

    # Its parts fit together.
    if certificate.dual > 0:
        assert certificate.upper_bound == pytest.approx(1 / math.sqrt(2 * certificate.dual), rel=SLACK)
        assert certificate.gap == pytest.approx(certificate.primal / certificate.dual - 1, abs=SLACK)
    ratio = max(certificate.margin, 0) / certificate.upper_bound
    assert certificate.fraction == pytest.approx(ratio, abs=SLACK)

    # The dual variables are feasible and prove no more than is stated, unless they are those of an
    # earlier hypothesis: then no more than is true.
    if hasattr(classifier, "dual_coef_"):
        alpha = classifier.dual_coef_[0]
        assert (alpha >= 0).all()
        if problem.loss == "hinge":
            assert (alpha <= problem.C_k * (1 + 4e-16)).all()
        dual = problem.dual_objective(alpha)
        most = certificate.dual if getattr(classifier, "averaging", "last") == "last" else optimum
        # Under a dual optimum of inf the objective cancels.
        rounding = SLACK * alpha.sum() + problem.rounding_of_dual(alpha)
        assert dual <= most * (1 + SLACK) + rounding
