"""Newton steps that start on a subsample: when, with which results, and with a misleading one."""

import numpy as np
import pytest
from problems import noisy
from sample_problems import data_of, tuning_with
from scipy import sparse

import margins
from margins.losses import Hinge, SquaredHinge
from margins.solvers.auto import Costs
from margins.solvers.base import Problem
from margins.solvers.newton.subsample import SubsampledNewtonSolver
from margins.tuning import TUNING

Auto = margins.MarginClassifier


@pytest.fixture
def small_subsamples(monkeypatch, tuned):
    """Subsamples of a thousand samples. Holds the size of each, and whether it was accepted."""
    tuned(subsample={"per_feature": 250, "min_size": 100, "min_ratio": 2})
    accepted, play = [], SubsampledNewtonSolver.epoch

    def watched(self, run):
        size = 0 if self._sample is None or self._whole is not None else self._size
        report = play(self, run)
        if size > 0:
            accepted.append((size, report.n_changed > 0))
        return report

    monkeypatch.setattr(SubsampledNewtonSolver, "epoch", watched)
    return accepted


def assert_proven(fit, X, y, C, weight=1.0):
    """The certificate, from coef_ and dual_coef_ alone."""
    rho = fit.intercept_scaling if fit.fit_intercept else 0.0
    w, bias = fit.coef_[0], fit.intercept_[0] / rho if rho else 0.0
    alpha = np.abs(fit.dual_coef_[0])
    slacks = np.maximum(1 - y * (X @ w + rho * bias), 0)
    primal = 0.5 * (w @ w + bias**2) + np.sum(C * weight * slacks)
    v, v_bias = X.T @ (alpha * y), rho * np.sum(alpha * y)
    dual = alpha.sum() - 0.5 * (v @ v + v_bias**2)
    assert np.all(alpha <= C * weight * (1 + 1e-12))
    assert fit.converged_
    assert primal <= fit.certificates_[0].primal * (1 + 1e-9)
    assert fit.certificates_[0].dual <= primal * (1 + 1e-9)
    assert primal - dual <= fit.eps * dual * (1 + 1e-6)


def test_a_subsample_is_planned_for_many_samples_per_feature():
    tuning = tuning_with(subsample={"per_feature": 5, "min_size": 20, "min_share": 0.28, "min_ratio": 3})
    for m, d, size in [
        (60, 3, 20),
        (59, 3, 0),
        (60, 4, 20),
        (60, 5, 0),
        (75, 5, 25),
        (74, 5, 0),
        (200, 3, 56),
    ]:
        data = data_of(*noisy(m, d))
        assert Costs(Problem(data, Hinge(1.0)), tuning).subsample_size == size
        assert Costs(Problem(data, SquaredHinge(1.0)), tuning).subsample_size == 0
    X = sparse.random(300, 20, 0.03, format="csr", random_state=0)  # no small Hessian
    data = data_of(X, noisy(300, 4)[1])
    assert Costs(Problem(data, Hinge(1.0)), tuning).subsample_size == 0


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("eps", [1e-2, 1e-5])
def test_a_fit_that_starts_on_a_subsample_proves_the_required_accuracy(
    small_subsamples, C, fit_intercept, eps
):
    X, y = noisy(3000, 4)
    fit = Auto(loss="hinge", C=C, eps=eps, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    assert small_subsamples == [(1000, True)]
    assert fit.solver_ == "newton"
    assert_proven(fit, X, y, C)
    first = fit.learning_curve_[0][0]
    assert 0 < first.mistakes < len(X)  # over a working set


def test_sample_weights_count_in_subsamples_of_the_solver_named_newton(small_subsamples):
    X, y = noisy(3000, 4)
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    fit = Auto(loss="hinge", C=0.5, eps=1e-4, solver="newton", random_state=0).fit(X, y, weight)
    assert small_subsamples == [(1000, True)]
    assert_proven(fit, X, y, 0.5, weight)


def test_a_misleading_subsample_costs_no_more_than_its_own_steps(small_subsamples, tuned):
    X, y = noisy(3000, 4, noise=0.02)  # nearly separable
    with_sample = Auto(loss="hinge", C=1e4, eps=1e-3, random_state=0).fit(X, y)
    assert small_subsamples == [(1000, False)]
    assert_proven(with_sample, X, y, 1e4)
    tuned(subsample={"min_ratio": 1e9})
    without = Auto(loss="hinge", C=1e4, eps=1e-3, random_state=0).fit(X, y)
    assert (
        with_sample.n_accesses_ <= 1.5 * without.n_accesses_ + 3000 + TUNING.subsample.max_steps * 1000
    )


def test_the_objective_over_all_samples_reveals_a_misleading_subsample(small_subsamples, tuned):
    X, y = noisy(3000, 4)
    tuned(subsample={"per_feature": 250, "min_size": 100, "min_ratio": 2, "max_objective_ratio": 0.5})
    fit = Auto(loss="hinge", C=1, eps=1e-4, random_state=0).fit(X, y)
    assert small_subsamples == [(1000, False)]
    assert fit.learning_curve_[0][0].mistakes == 0
    assert_proven(fit, X, y, 1)


def test_a_subsample_of_one_class_keeps_the_accuracy(small_subsamples):
    X, y = noisy(3000, 4)
    y[:] = -1
    y[3] = 1
    fit = Auto(loss="hinge", C=1, eps=1e-4, random_state=0).fit(X, y)
    assert len(small_subsamples) == 1
    assert_proven(fit, X, y, 1)


@pytest.mark.parametrize("seed", range(5))
def test_long_samples_outside_of_the_subsample_are_processed(small_subsamples, seed):
    X, y = noisy(3000, 4, seed=seed)
    X[[10, 20, 30]] *= 1e5
    fit = Auto(loss="hinge", C=1, eps=1e-3, random_state=seed).fit(X, y)
    assert len(small_subsamples) == 1
    assert_proven(fit, X, y, 1)


def test_the_solver_named_newton_continues_after_a_misleading_subsample(small_subsamples):
    X, y = noisy(3000, 4, noise=0.02)
    fit = Auto(loss="hinge", C=1e4, eps=1e-3, solver="newton", random_state=0).fit(X, y)
    assert small_subsamples == [(1000, False)]
    assert fit.solver_ == "newton" and len(fit.phases_[0]) == 2
    assert_proven(fit, X, y, 1e4)


def test_a_single_epoch_is_not_over_a_subsample(small_subsamples):
    X, y = noisy(3000, 4)
    fit = Auto(loss="hinge", C=1, max_iter=1, random_state=0).fit(X, y)
    assert small_subsamples == []
    assert fit.certificates_[0].gap < 1


@pytest.mark.parametrize(("noise", "share"), [(0.5, 0.9), (2.0, 0.75)])
def test_fewer_accesses_prove_as_much(tuned, noise, share):
    X, y = noisy(m=130_000, d=3, noise=noise)
    accesses = []
    for min_ratio in (TUNING.subsample.min_ratio, 1e9):
        tuned(subsample={"min_ratio": min_ratio})
        fit = Auto(loss="hinge", C=1, eps=1e-3, random_state=0).fit(X, y)
        assert fit.converged_
        accesses.append(fit.n_accesses_)
    assert accesses[0] <= share * accesses[1]
