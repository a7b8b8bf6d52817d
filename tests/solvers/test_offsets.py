"""A free intercept does not depend on an offset; no model is worse than a constant."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from covering import every_pair
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.data.centring import centre_of, centred
from margins.data.chunks import Chunks
from margins.losses import loss_of
from margins.solvers import improvement
from margins.solvers.improvement import minimum, refit_intercept
from margins.solvers.proof import PrimalPoint

LOSSES = ("squared_hinge", "hinge")
OFFSETS = (0.0, 10.0, 1e4)
each_loss = pytest.mark.parametrize("loss", LOSSES)


def raw(offset, n=40, p=100, level=0.1, signal=0.01):
    """Raw spectra: columns share an offset and a level, and the signal is far smaller."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    pattern = np.r_[np.ones(p // 2), -np.ones(p - p // 2)]
    X = offset + rng.normal(size=(n, 1)) * level + ((2 * y - 1) * signal)[:, None] * pattern
    return X + rng.normal(size=(n, p)) * signal / 2, y


def make(**params):
    return margins.MarginClassifier(
        **{"C": 100, "penalize_intercept": False, "random_state": 0} | params
    )


def objectives(classifier):
    return [certificate.primal for certificate in classifier.certificates_]


@each_loss
@pytest.mark.parametrize(
    ("p", "solver", "storage"),
    every_pair(
        [20, 100, 2000], ["auto", "conjugate", "newton"], [np.asarray, np.float32, sparse.csr_array]
    ),
)
def test_an_offset_changes_no_optimum(loss, p, solver, storage):
    best = objectives(make(loss=loss, solver=solver).fit(*raw(0.0, p=p)))[0]
    for offset in OFFSETS[1:]:
        X, y = raw(offset, p=p)
        fitted = make(loss=loss, solver=solver).fit(storage(X), y)
        assert fitted.converged_
        # float32 rounds the features at 1e4 by a tenth of the signal
        rel = 0.04 if storage is not np.float32 else 0.3
        assert objectives(fitted)[0] == pytest.approx(best, rel=rel)
        # The certificate is for the coefficients as returned.
        w, b, signs = fitted.coef_[0], fitted.intercept_[0], 2.0 * y - 1
        slack = np.maximum(1 - signs * (storage(X) @ w + b), 0)
        value = 0.5 * w @ w + 100 * np.sum(slack if loss == "hinge" else slack**2)
        assert value == pytest.approx(objectives(fitted)[0], rel=1e-3 if storage is np.float32 else 1e-6)


@pytest.mark.parametrize("offset", OFFSETS)
def test_an_offset_changes_no_margin_and_no_answer(offset):
    X, y = raw(offset)
    widest = make(C=np.inf).fit(X, y)
    assert widest.converged_ and widest.certificates_[0].margin == pytest.approx(0.0949, rel=0.01)
    assert margins.separability(X, y).is_separable is True


@each_loss
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_an_offset_changes_no_problem_of_several_classes(loss, multi_class):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    moved = 0.02 * np.eye(3)[classes] @ rng.normal(size=(3, 100))
    params = {"loss": loss, "multi_class": multi_class, "class_weight": "balanced"}
    near, far = (make(**params).fit(raw(offset, n=60)[0] + moved, classes) for offset in (0.0, 1e4))
    assert far.converged_ and far.score(raw(1e4, n=60)[0] + moved, classes) == 1
    assert_allclose(objectives(far), objectives(near), rtol=0.04)


def test_paths_and_folds_and_chunks():
    results = []
    for offset in OFFSETS:
        X, y = raw(offset)
        path = margins.svm_path(X, y, Cs=[0.1, 1.0, 100.0], penalize_intercept=False, random_state=0)
        assert path.converged.all()
        scores = X @ path.coefs[2][0] + path.intercepts[2][0]
        assert ((scores > 0) == (y == 1)).all()
        selected = margins.MarginClassifierCV(Cs=[0.1, 1.0, 100.0], cv=4, penalize_intercept=False)
        selected.set_params(random_state=0).fit(X, y)
        chunks = make().fit(Chunks([(X[:20], y[:20]), (X[20:], y[20:])]))
        results.append([path.certificates[2][0].primal, selected.scores_.mean(), objectives(chunks)[0]])
    assert_allclose(results[1:], [results[0]] * 2, rtol=0.04)


def test_only_columns_that_are_mostly_stored_are_moved():
    rng = np.random.default_rng(0)
    X = sparse.random_array((50, 6), density=0.1, rng=rng, format="csr").tolil()
    X[:, 2] = 5 + rng.normal(size=(50, 1)) * 0.01
    X = sparse.csr_matrix(X)
    centre = centre_of(X)
    assert np.flatnonzero(centre).tolist() == [2]
    moved = centred(X, centre)
    assert moved.nnz == X.nnz
    assert_allclose(moved.toarray(), X.toarray() - centre)
    assert centre_of(X[:, [0, 1]]) is None and centre_of(rng.normal(size=(20, 3))) is None


@each_loss
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("free", [False, True])
def test_no_model_that_is_returned_is_worse_than_a_constant(loss, kernel, free):
    X, y = raw(0.0, p=8)
    y = (np.arange(40) % 8 == 0).astype(int)  # rare, and without a signal
    signs = 2 * y - 1
    for factor in (1e3, 1e7):
        for C in (1.0, 1e6):
            for max_iter in (1, 2):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    params = {"kernel": kernel, "penalize_intercept": not free, "max_iter": max_iter}
                    fitted = make(C=C, loss=loss, **params).fit(factor * X, y)
                constant = loss_of(loss, C).constant_objective(signs, np.inf if free else 1.0)
                assert fitted.certificates_[0].primal <= constant * (1 + 1e-8)


@each_loss
@pytest.mark.parametrize(("free", "rho"), [(False, 2.0), (True, 1.0)])
@pytest.mark.parametrize(("towards", "scale"), [(1, 0.8), (1, 0.0), (-1, 0.8)])
def test_an_intercept_chosen_again_is_the_best_of_all_multiples(
    loss, free, rho, towards, scale, monkeypatch
):
    searches = []
    monkeypatch.setattr(improvement, "minimum", lambda *args: searches.append(args) or minimum(*args))
    loss, signs = loss_of(loss, 0.1), np.where(np.arange(12) % 4, 1.0, -1.0)
    point = PrimalPoint(np.array([0.7, 0.4, 3.0]) * [towards, towards, 1], None, rho, None)
    scores = (np.random.default_rng(0).normal(size=(12, 2)) + signs[:, None]) @ point.weights

    def objective(multiple, b):
        lengths = point.weights @ point.weights * multiple**2 + (0 if free else b * b / rho**2)
        return 0.5 * lengths + loss.value(signs * (multiple * scores + b))

    best = minimize(lambda v: objective(abs(v[0]), v[1]), (0.5, 0.5), method="Nelder-Mead", tol=1e-12)
    data = SimpleNamespace(signs=signs, sq_intercept_scaling=rho**2, has_free_intercept=free)
    for theta, primal in ((0.25, None), (0.0, point)):
        claim = SimpleNamespace(data=data, loss=loss, hypothesis=point, theta=theta)
        products = signs * (scores + rho * point.w[-1] - theta)
        refit = refit_intercept(claim, SimpleNamespace(products=products, primal_scale=scale), primal)
        last = point.w[-1] * refit.multiple if primal is None else refit.primal.w[-1]
        b = rho * last - refit.theta * refit.multiple
        assert refit.value == pytest.approx(best.fun, rel=1e-8 if towards > 0 else 1e-12)
        assert objective(refit.multiple, b) == pytest.approx(refit.value, rel=1e-12)
    # No multiple is searched for where each is worse than none.
    assert (len(searches) > (0 if free else 8)) == (towards > 0)
    assert_allclose(refit.primal.w[:-1], refit.multiple * point.weights)
    assert_allclose(refit.primal.margins, signs * (refit.multiple * scores + b))


@pytest.mark.parametrize("seed", [0, 36, 43])
def test_a_better_multiple_is_seen_among_kinks_that_are_near(seed):
    loss, signs = loss_of("hinge", 10.0), np.where(np.arange(40) % 4, 1.0, -1.0)
    scores = np.random.default_rng(seed).normal(size=40) + 0.2 * signs
    data = SimpleNamespace(signs=signs, sq_intercept_scaling=1.0, has_free_intercept=False)
    point = PrimalPoint(np.array([1.0, 0.0]), None, 1.0, None)
    claim = SimpleNamespace(data=data, loss=loss, hypothesis=point, theta=0.0)
    proof = SimpleNamespace(products=signs * scores, primal_scale=1.0)

    def objective(v):
        return v @ v / 2 + loss.value(signs * (v[0] * scores + v[1]))

    best = minimize(objective, (0.5, 0.5), method="Powell")
    assert refit_intercept(claim, proof, point).value <= best.fun * (1 + 1e-6)
