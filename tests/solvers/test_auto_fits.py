"""Fits with solver='auto': which of the planned phases run, and what they cost."""

import math

import numpy as np
import pytest
from algorithm_groups import quiet
from numpy.testing import assert_array_equal
from problems import clouds, integers
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from watched_steps import before_epochs

import margins
from margins.kernels.gram import WholeGram
from margins.solvers.newton import newton
from margins.solvers.newton._hessian_vector import HessianVectorProduct

Auto = margins.MarginClassifier
each_loss = pytest.mark.parametrize("loss", ("squared_hinge", "hinge"))
PAPERS = ("pdm", "pdm-succ", "mpcs", "mpvs", "mpu")


@each_loss
def test_steps_by_hessian_vector_products_end_at_their_cost_limit(loss):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((np.ones(8000), rng.integers(0, 300, 8000), np.arange(0, 8001, 8)), (1000, 300))
    X.sum_duplicates()
    y = np.where(X @ rng.normal(size=300) > 0, 1, -1)  # separable
    fit = Auto(loss=loss, C=1e4, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert fit.n_accesses_ < 1000 * (2000 if loss == "hinge" else 700)


@each_loss
def test_many_samples_of_many_features_need_no_hessian(loss, monkeypatch):
    kinds = []
    monkeypatch.setattr(
        newton,
        "HessianVectorProduct",
        lambda *given: kinds.append(given) or HessianVectorProduct(*given),
    )
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 300, 0.02, format="csr", random_state=0)
    y = np.where(X @ rng.normal(size=300) + 0.5 * rng.normal(size=2000) > 0, 1, -1)
    fit = Auto(loss=loss, C=1e3, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert kinds
    assert fit.n_accesses_ < 2000 * (2000 if loss == "hinge" else 200)


@quiet
@each_loss
@pytest.mark.parametrize(
    ("rank", "C", "steps"),
    [
        (350, 1.0, False),  # separable, as 360 random samples of 350 features are
        (350, 100.0, False),
        (5, 1e-4, False),  # what accesses find left is little
        (5, 1e3, True),  # not separable: samples of five dimensions, labelled at random
    ],
)
def test_few_samples_are_accessed_singly_unless_that_costs_more(loss, rank, C, steps, monkeypatch):
    epochs = before_epochs(monkeypatch, lambda solver, run: run.n_epochs)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 350))
    X = X if rank == 350 else X[:, :rank] @ X[:rank] / math.sqrt(rank)
    y = rng.choice([-1, 1], 360)
    fit = Auto(loss=loss, C=C, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert bool(epochs) is steps
    assert fit.solver_.endswith("newton" if steps else "conjugate")
    if steps:
        slow = Auto(loss=loss, C=C, eps=1e-3, random_state=0, solver="unlearning", max_iter=100).fit(
            X, y
        )
        assert fit.n_accesses_ < slow.n_accesses_ / 3


@pytest.mark.parametrize(("C", "steps"), [(1e-4, False), (1.0, True)])
def test_no_newton_step_follows_if_accesses_leave_a_small_gap(C, steps, monkeypatch):
    epochs = before_epochs(monkeypatch, lambda solver, run: run.n_epochs)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    fit = Auto(C=C, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert bool(epochs) is steps


@quiet
@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, {}) for name in PAPERS),
        ("mpu", {"stop": "clean-pass"}),
        ("pdm-succ", {"C": math.inf}),
        ("mpcs", {"kernel": "rbf"}),
    ],
)
def test_papers_algorithms_run_their_rules_and_nothing_else(name, params, monkeypatch):
    def refuse(*_):
        raise AssertionError("not of this paper")

    for place in ("newton.newton.NewtonSolver", "conjugate.ConjugateSolver", "auto._Planner"):
        monkeypatch.setattr(f"margins.solvers.{place}.__init__", refuse)
    X, y = clouds()
    fitted = margins.get(name)(max_iter=5, eps=0.1, random_state=0, **params).fit(X, y)
    assert fitted.solver_ == "rules"
    assert {record.solver for record in fitted.phases_[0]} == {"rules"}
    assert {epoch.solver for epoch in fitted.learning_curve_[0]} == {"rules"}
    assert "newton" not in fitted.get_params()
    with pytest.raises(AssertionError, match="not of this paper"):
        Auto(max_time=1e9).fit(X, y)  # a plan is made for a run


@pytest.mark.parametrize(("loss", "most"), [("squared_hinge", 2500), ("hinge", 20_000)])
def test_steps_for_a_smooth_loss_follow_accesses_to_a_part(loss, most):
    X, y = integers(m=20_000, d=20)
    fit = Auto(loss=loss, eps=1e-6, random_state=0).fit(X, y)
    assert fit.converged_
    assert most / 4 < fit.learning_curve_[0][0].mistakes <= most
    assert fit.phases_[0][0].accesses == most
    # A run of one epoch accesses all samples.
    with pytest.warns(ConvergenceWarning):
        short = Auto(loss=loss, eps=1e-6, max_iter=1, random_state=0).fit(X, y)
    assert short.n_accesses_ == 20_000


@quiet
@each_loss
@pytest.mark.parametrize("shape", [(200, 4), (500, 30), (60, 100), (20, 400), (900, 60)])
def test_only_explained_phases_run(shape, loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.choice([-1, 1], shape[0])
    classifier = Auto(loss=loss, eps=1e-4, random_state=0)
    planned = [phase.solver for phase in classifier.explain(X, y).plan.phases]
    ran = [record.solver for record in classifier.fit(X, y).phases_[0]]
    rest = iter(planned)
    assert all(name in rest for name in dict.fromkeys(ran))


@quiet
@each_loss
def test_a_reserve_ends_when_its_dual_value_proves_the_model_before_it(loss):
    n_reserves = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 10)) * 10 ** rng.uniform(-2, 2, size=10) + 10 ** rng.uniform(3, 6)
        y = X[:, 0] - X[:, 0].mean() + X[:, 0].std() * rng.normal(size=200) > 0
        eps = 10 ** rng.uniform(-9, -5)
        [curve] = Auto(loss=loss, eps=eps, C=10, random_state=0).fit(X, y).learning_curve_
        certified = [
            (epoch.solver, epoch.certificate) for epoch in curve if epoch.certificate is not None
        ]
        primal = [certificate.primal for solver, certificate in certified if solver != "conjugate"][-1]
        duals = [certificate.dual for solver, certificate in certified if solver == "conjugate"]
        assert all(primal / dual - 1 > eps for dual in duals[:-1])
        n_reserves += len(duals) > 0
    assert n_reserves > 2


@each_loss
@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_classes_share_the_inner_products_of_few_samples(penalize_intercept, loss, monkeypatch):
    X, y = clouds(4, m=400, d=140, distance=0.2)
    params = {"loss": loss, "penalize_intercept": penalize_intercept, "random_state": 0}
    newton, computed, products = Auto(solver="newton", **params).fit(X, y), [], WholeGram._products
    monkeypatch.setattr(WholeGram, "_products", lambda self: computed.append(1) or products(self))
    alone, together = (Auto(n_jobs=n_jobs, **params).fit(X, y) for n_jobs in (1, 2))
    assert computed == [1, 1]
    assert_array_equal(alone.coef_, together.coef_)
    assert {record.solver for phases in alone.phases_ for record in phases} == {"decomposition"}
    for one, other in zip(alone.certificates_, newton.certificates_, strict=True):
        assert one.dual <= other.primal and other.dual <= one.primal
    easy = Auto(C=1e-4, **params | {"penalize_intercept": True}).fit(X, y)  # C |x|^2 is below 1
    sparse_fit, pair = Auto(**params).fit(sparse.csr_array(X), y), Auto(**params).fit(X, y > 1)
    assert len(computed) == 2
    assert all(fit.converged_ for fit in (alone, easy, sparse_fit, pair))


@each_loss
def test_pairs_that_would_take_too_long_end_after_a_few_rounds(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 120)), np.arange(600) % 3  # labels that say nothing
    fit = Auto(loss=loss, C=100.0, random_state=0).fit(X, y)
    assert fit.converged_
    for pairs, *others in fit.phases_:
        assert pairs.solver == "decomposition" and others
        assert pairs.accesses <= 600 * (2 * 5 + 1)  # five rounds of 600 pairs, and one sum
