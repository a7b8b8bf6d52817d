"""Newton steps by the Hessian of a part of the samples: when, with which results, where it misleads."""

import numpy as np
import pytest
from problems import noisy
from sample_problems import data_of, tuning_with
from watched_steps import before_epochs

import margins
from margins.losses import Hinge, SquaredHinge
from margins.solvers.auto import Costs
from margins.solvers.base import Problem

TUNING = {"hessian_per_weight": 20}


@pytest.fixture
def sizes(monkeypatch, tuned):
    """The sizes of the Hessian before each epoch of Newton steps; 0: of all samples."""
    tuned(newton=TUNING)
    return before_epochs(monkeypatch, lambda solver, run: solver._hessian_size)


def test_it_is_planned_if_the_whole_hessian_costs_more_than_reading_the_samples():
    tuning = tuning_with(newton=TUNING)
    problem = Problem(data_of(*noisy(6000, 20)), SquaredHinge(1.0))
    size = Costs(problem, tuning).hessian_size
    assert 20 * 21 <= size <= 3000
    assert Costs(problem, tuning_with(newton={"hessian_per_weight": 1000})).hessian_size == 0
    assert Costs(Problem(data_of(*noisy(500, 20)), SquaredHinge(1.0)), tuning).hessian_size == 0
    assert Costs(Problem(data_of(*noisy(6000, 2)), SquaredHinge(1.0)), tuning).hessian_size == 0
    assert Costs(Problem(data_of(*noisy(6000, 20)), Hinge(1.0)), tuning).hessian_size == 0


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_steps_by_a_partial_hessian_lead_to_the_optimum(C, penalize_intercept, sizes):
    X, y = noisy(6000, 20)
    options = {"C": C, "penalize_intercept": penalize_intercept, "random_state": 0}
    fit = margins.MarginClassifier(eps=1e-3, **options).fit(X, y)
    exact = margins.MarginClassifier(eps=1e-9, solver="newton", **options).fit(X, y)
    assert fit.converged_ and exact.converged_ and sizes[0] > 0
    gap = fit.certificates_[0].primal - exact.certificates_[0].dual
    assert -1e-9 * exact.certificates_[0].dual <= gap <= 2.1e-3 * exact.certificates_[0].dual


def test_steps_by_the_whole_hessian_follow_if_a_part_misleads(sizes):
    # A few long samples, of which the chosen ones are unlikely to be.
    X, y = noisy(6000, 20)
    X[::997] *= 1e3
    fit = margins.MarginClassifier(eps=1e-6, C=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert sizes[0] > 0 and sizes[-1] == 0


def test_a_path_along_C_uses_partial_hessians(sizes):
    X, y = noisy(6000, 20)
    Cs = np.logspace(-3, 1, 5)
    path = margins.svm_path(X, y, Cs=Cs, loss="squared_hinge", eps=1e-4, random_state=0)
    assert all(fit.converged_ for fit in path.classifiers) and sizes[0] > 0
    for C, coef in zip(Cs, path.coefs, strict=True):
        exact = margins.MarginClassifier(C=C, eps=1e-8, solver="newton", random_state=0).fit(X, y)
        np.testing.assert_allclose(coef.ravel(), exact.coef_.ravel(), rtol=0.02, atol=1e-3)
