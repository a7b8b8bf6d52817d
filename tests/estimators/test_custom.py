"""ALMA and the second-order perceptron against what their papers say, step by step in NumPy."""

import math

import exact_optima
import numpy as np
import pytest
from algorithm_groups import quiet
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import data_of
from properties import examples
from sample_problems import orders_of_fit
from scipy import sparse
from scipy.optimize import minimize

import margins

Alma = margins.get("alma")
SecondOrder = margins.get("second-order-perceptron")


def normalised(data, p):
    return data / np.sum(np.abs(data) ** p, axis=1, keepdims=True) ** (1 / p)


def length(x, p):
    return float(np.sum(np.abs(x) ** p) ** (1 / p))


def dual_map(w, q):
    """f of the paper for q; its inverse is f for p."""
    norm = length(w, q)
    return np.sign(w) * np.abs(w) ** (q - 1) / norm ** (q - 2) if norm > 0 else np.zeros_like(w)


def alma(data, p, alpha, accesses):
    """Figure 1 of Gentile (2001), as printed: w, the mistakes' indices, epochs, theta's certificate."""
    q = p / (p - 1)
    B, C = math.sqrt(8) / alpha, math.sqrt(2)
    unit = normalised(data, p)
    w, k, mistakes, total = np.zeros(data.shape[1]), 1, [], 0.0
    epoch = 0
    for order in accesses:
        epoch += 1
        before = k
        for i in order:
            if unit[i] @ w <= (1 - alpha) * B * math.sqrt(p - 1) / math.sqrt(k):
                eta = C / (math.sqrt(p - 1) * math.sqrt(k))
                w = dual_map(dual_map(w, q) + eta * unit[i], p)
                norm = max(1, length(w, q))
                w, total = w / norm, (total + eta) / norm
                k += 1
                mistakes.append(int(i))
        if k == before:
            break
    return w, mistakes, epoch, length(w, q) / total


def second_order(data, labels, a, accesses):
    """Figure 2 of Cesa-Bianchi, Conconi & Gentile (2005): the matrix is solved with at each trial."""
    d = data.shape[1]
    A, v, mistakes = a * np.eye(d), np.zeros(d), []
    epoch = 0
    for order in accesses:
        epoch += 1
        before = len(mistakes)
        for i in order:
            x = data[i]
            if labels[i] * (v @ np.linalg.solve(A + np.outer(x, x), x)) <= 0:
                v, A = v + labels[i] * x, A + np.outer(x, x)
                mistakes.append(int(i))
        if len(mistakes) == before:
            break
    return np.linalg.solve(A, v), mistakes, epoch


def problem(seed, m=30, d=5, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.7)
    score = X @ rng.normal(size=d) + 0.3 + noise * rng.normal(size=m)
    y = np.where(score > 0, 1, -1)
    y[:2] = -1, 1
    return X, y


@quiet
@pytest.mark.parametrize(
    ("p", "C", "container"),
    [
        (2, math.inf, np.asarray),
        (2, 0.7, sparse.csr_array),
        (2.5, math.inf, sparse.csr_array),
        (2.5, 0.7, np.asarray),
        (4, 0.7, np.asfortranarray),
        (12, math.inf, np.asfortranarray),
        (12, 0.7, sparse.csr_array),
    ],
)
def test_alma_makes_the_updates_of_the_paper(p, C, container):
    for seed, eps in ((0, 1.0), (1, 0.6), (2, 0.3)):
        X, y = problem(seed, noise=0.5)
        params = {"eps": eps, "C": C, "intercept_scaling": 1.5, "stop": "clean-pass"}
        fit = Alma(p=p, max_iter=40, random_state=seed, **params)
        fit.fit(container(X), y)
        data = data_of(X, y, 1.5, 1 / (2 * C))
        w, mistakes, epoch, bound = alma(data, p, eps, orders_of_fit(len(y), 40, seed))
        assert (fit.n_updates_, fit.n_iter_) == (len(mistakes), epoch)
        assert [e.updates for e in fit.learning_curve_[0]][-1] == len(mistakes)
        found = np.append(fit.coef_[0], fit.intercept_[0] / 1.5)
        ordinary = w[:6]
        assert_allclose(found / np.linalg.norm(found), ordinary / np.linalg.norm(ordinary), atol=1e-9)
        (certificate,) = fit.normalised_certificates_
        q = p / (p - 1)
        margin = (normalised(data, p) @ w).min() / length(w, q)
        assert certificate.margin == pytest.approx(margin, rel=1e-9, abs=1e-12)
        by_theorem = math.sqrt(8 * (p - 1) / (len(mistakes) + 1)) / eps
        expected = max(min(bound, by_theorem), margin)
        assert certificate.upper_bound == pytest.approx(expected, rel=1e-9)
        if math.isfinite(C):
            alpha = fit.dual_coef_[0]
            assert set(np.flatnonzero(alpha)) == set(mistakes)
            theta = dual_map(w, q)
            assert_allclose(theta / np.linalg.norm(theta), unit(alpha @ data), atol=1e-9)


def unit(x):
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("p", [2, 3, 20])
def test_alma_of_a_stream_makes_the_updates_of_the_paper(p):
    X, y = problem(3, m=60, noise=0.5)
    w, mistakes, _, bound = alma(data_of(X, y), p, 0.5, [np.arange(60)])
    whole = Alma(p=p, eps=0.5).partial_fit(X, y, [-1, 1])
    assert whole.n_updates_ == len(mistakes)
    assert_allclose(np.append(whole.coef_[0], whole.intercept_[0]), w, rtol=1e-9, atol=1e-12)
    by_theorem = math.sqrt(8 * (p - 1) / (len(mistakes) + 1)) / 0.5
    assert whole.normalised_upper_bounds_ == [pytest.approx(min(bound, by_theorem), rel=1e-9)]
    assert whole.normalised_certificates_ == []


def greatest_margin(unit_data, p):
    """Bounds of max over |w|_q <= 1 of min_k w.y_k: (attained, not exceeded), by the nearest point."""
    if p == 2:
        gamma = exact_optima.maximum_margin(unit_data)
        return gamma, gamma
    m = len(unit_data)
    result = minimize(
        lambda a: length(a @ unit_data, p) ** p,
        np.full(m, 1 / m),
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    a = np.maximum(result.x, 0)
    theta = a @ unit_data / a.sum()
    w = dual_map(theta, p)
    return (unit_data @ w).min() / length(w, p / (p - 1)), length(theta, p)


@quiet
@examples(10)
@given(
    seed=st.integers(0, 10**6),
    p=st.sampled_from([2.0, 3.0, 6.0]),
    eps=st.sampled_from([1.0, 0.9, 0.5, 0.2]),
    C=st.sampled_from([math.inf, 1.0]),
    stop=st.sampled_from(["certificate", "clean-pass"]),
)
def test_alma_satisfies_both_bounds_of_its_theorem(seed, p, eps, C, stop):
    X, y = problem(seed, m=12, d=3)
    unit_data = normalised(data_of(X, y, 1.0, 1 / (2 * C)), p)
    low, high = greatest_margin(unit_data, p)
    fit = Alma(p=p, eps=eps, C=C, random_state=0, stop=stop, max_iter=3000).fit(X, y)
    (certificate,) = fit.normalised_certificates_
    assert certificate.margin <= high * (1 + 1e-9) + 1e-12
    assert certificate.upper_bound >= low * (1 - 1e-9)
    if low > 0:
        most = 2 * (p - 1) / low**2 * (2 / eps - 1) ** 2 + 8 / eps - 4
        assert fit.n_updates_ <= most * (1 + 1e-9)
    if fit.converged_:
        assert certificate.margin >= (1 - eps) * low * (1 - 1e-9)
        assert certificate.fraction >= (1 - eps) * (1 - 1e-12)


@quiet
@pytest.mark.parametrize("z", [1e-40, 1e40])
def test_alma_converges_in_any_unit_with_any_p(z):
    X, y = problem(5)
    for p in (2, 40, 100):
        plain = Alma(p=p, eps=0.9, max_iter=50, random_state=0).fit(X, y)
        other = Alma(p=p, eps=0.9, max_iter=50, random_state=0, intercept_scaling=z).fit(X * z, y)
        assert other.n_updates_ == plain.n_updates_
        (one,), (two,) = plain.normalised_certificates_, other.normalised_certificates_
        assert two.margin == pytest.approx(one.margin, rel=1e-9)


@quiet
@pytest.mark.parametrize(("rho", "container"), [(0.0, sparse.csr_array), (2.0, np.asarray)])
@pytest.mark.parametrize("a", [0.01, 1.0, 30.0])
def test_second_order_perceptron_makes_the_mistakes_of_the_paper(a, rho, container):
    for seed in range(3):
        X, y = problem(seed, noise=0.4 * seed)
        params = {"fit_intercept": rho > 0, "intercept_scaling": rho or 1.0}
        X[~X.any(axis=1), 0] = 1
        fit = SecondOrder(a=a, C=3.0, max_iter=25, random_state=seed, **params).fit(container(X), y)
        columns = np.hstack([X, np.full((len(y), 1), rho)])
        w, mistakes, epoch = second_order(columns, y, a, orders_of_fit(len(y), 25, seed))
        assert (fit.n_updates_, fit.n_iter_) == (len(mistakes), epoch)
        found = np.append(fit.coef_[0], fit.intercept_[0] / rho if rho else 0.0)
        assert_allclose(unit(found), unit(w), atol=1e-8)
        counts = np.bincount(mistakes, minlength=len(y))
        assert_allclose(fit.dual_coef_[0] / fit.dual_coef_[0].sum(), counts / counts.sum(), rtol=1e-12)
        # The bound is |sum of the mistaken samples| / their number, slack terms included.
        v = (counts * y) @ columns
        squared = v @ v + np.sum(counts**2) / (2 * 3.0)
        bound = math.sqrt(squared) / counts.sum()
        assert fit.certificates_[0].upper_bound == pytest.approx(bound, rel=1e-9)


def test_second_order_perceptron_of_a_stream_follows_the_paper():
    X, y = problem(4, m=80, noise=0.5)
    columns = np.hstack([X, np.ones((80, 1))])
    w, mistakes, _ = second_order(columns, y, 1.0, [np.arange(80)])
    whole = SecondOrder().partial_fit(X, y, [-1, 1])
    assert whole.n_updates_ == len(mistakes)
    assert_allclose(np.append(whole.coef_[0], whole.intercept_[0]), w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_second_order_perceptron_rejects_too_many_features(method):
    X = sparse.csr_array((np.ones(4), (range(4), range(4))), shape=(4, 62_061))
    name = r"second-order-perceptron \(SecondOrderPerceptron\)"
    with pytest.raises(ValueError, match=rf"^X of {name} must have at most 10000 feat"):
        if method == "fit":
            SecondOrder().fit(X, [0, 1, 0, 1])
        else:
            SecondOrder().partial_fit(X, [0, 1, 0, 1], [0, 1])


@quiet
@pytest.mark.parametrize("a", [1e-12, 1e-120])
def test_second_order_perceptron_stays_finite_if_the_matrix_is_nearly_singular(a):
    X, y = problem(0, m=200, noise=0.5)
    fit = SecondOrder(a=a, max_iter=30, random_state=0).fit(1e30 * X, y)
    assert np.isfinite(fit.coef_).all() and np.isfinite(fit.decision_function(1e30 * X)).all()


@pytest.mark.parametrize("algorithm", [Alma, SecondOrder])
def test_kernels_are_rejected(algorithm):
    for kernel in ("rbf", "precomputed", np.dot, None):
        with pytest.raises(ValueError, match=r"^kernel of \S+ \(\w+\) must be 'linear'\. Got "):
            algorithm(kernel=kernel).fit(*problem(0))
