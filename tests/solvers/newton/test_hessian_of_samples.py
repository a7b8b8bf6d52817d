"""Newton steps of a smooth loss on a subsample: when, with which results, where it misleads."""

import numpy as np
import pytest
from problems import noisy
from sample_problems import data_of, tuning_with

import margins
from margins.losses import SquaredHinge
from margins.solvers.auto import Costs
from margins.solvers.base import Problem
from margins.solvers.newton.subsample import SubsampledNewtonSolver

TUNING = {"per_weight": 20, "min_ratio_of_smooth": 2, "per_feature": 5, "min_size": 50}


@pytest.fixture
def sizes(monkeypatch, tuned):
    """The size of the subsample before each epoch of Newton steps; 0: over all samples."""
    tuned(subsample=TUNING)
    notes, epoch = [], SubsampledNewtonSolver.epoch

    def watched(self, run):
        notes.append(0 if self._sample is None else self._size)
        return epoch(self, run)

    monkeypatch.setattr(SubsampledNewtonSolver, "epoch", watched)
    return notes


def test_it_is_planned_if_samples_are_many_times_the_weights():
    tuning = tuning_with(subsample=TUNING)
    for m, d, size in [(6000, 20, 420), (840, 20, 420), (839, 20, 0), (64_000, 20, 2000)]:
        problem = Problem(data_of(*noisy(m, d)), SquaredHinge(1.0))
        assert Costs(problem, tuning).subsample_size == size


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_steps_on_a_subsample_lead_to_the_optimum(C, penalize_intercept, sizes):
    X, y = noisy(6000, 20)
    options = {"C": C, "penalize_intercept": penalize_intercept, "random_state": 0}
    fit = margins.MarginClassifier(eps=1e-3, **options).fit(X, y)
    exact = margins.MarginClassifier(eps=1e-9, solver="newton", **options).fit(X, y)
    assert fit.converged_ and exact.converged_ and sizes[0] > 0
    gap = fit.certificates_[0].primal - exact.certificates_[0].dual
    assert -1e-9 * exact.certificates_[0].dual <= gap <= 2.1e-3 * exact.certificates_[0].dual


def test_the_plan_continues_if_a_subsample_misleads(sizes):
    # A few long samples, of which the chosen ones are unlikely to be.
    X, y = noisy(6000, 20)
    X[::997] *= 1e3
    fit = margins.MarginClassifier(eps=1e-6, C=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert sizes == [420] and len(fit.phases_[0]) > 1


def test_steps_by_the_whole_hessian_follow_if_the_gap_does_not_fall_fast(sizes, tuned):
    tuned(subsample={**TUNING, "per_weight": 100, "max_lack": 0.0})
    fit = margins.MarginClassifier(eps=1e-6, random_state=0).fit(*noisy(6000, 20))
    assert fit.converged_ and fit.solver_ == "newton"
    assert sizes[0] > 0 and sizes[-1] == 0


def test_a_path_along_C_uses_partial_hessians(sizes):
    X, y = noisy(6000, 20)
    Cs = np.logspace(-3, 1, 5)
    path = margins.svm_path(X, y, Cs=Cs, loss="squared_hinge", eps=1e-4, random_state=0)
    assert all(fit.converged_ for fit in path.classifiers) and sizes[0] > 0
    for C, coef in zip(Cs, path.coefs, strict=True):
        exact = margins.MarginClassifier(C=C, eps=1e-8, solver="newton", random_state=0).fit(X, y)
        np.testing.assert_allclose(coef.ravel(), exact.coef_.ravel(), rtol=0.02, atol=1e-3)
