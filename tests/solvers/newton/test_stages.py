"""Which fits go on by Newton steps, and after what: visits, conjugate passes or nothing."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from numpy.testing import assert_array_equal
from sample_problems import ALL_LAYOUTS, clouds, integers, patterns_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.certificate import HardMargin, Hinge, SquaredHinge
from margins.data.binary_problem import rows_of
from margins.solvers.newton import newton
from margins.solvers.newton._hessian_vector import ImplicitCurvature
from margins.solvers.newton.newton import are_few, has_small_hessian
from margins.solvers.newton.stages import NewtonClassifier, need_visits, presentations_worth

Mpu = margins.get("mpu")
LOSSES = ("squared_hinge", "hinge")
OTHERS = ("pdm", "pdm-succ", "mpcs", "mpvs")
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_loss = pytest.mark.parametrize("loss", LOSSES)


def test_visits_come_before_steps_unless_they_cost_more():
    rng = np.random.default_rng(0)
    for m, d, squared, bounded in [
        (2500, 8, False, False),  # 20,000 elements
        (2501, 8, True, True),
        (2000, 10, False, True),  # 20,000 elements
        (2001, 10, True, True),
        (100, 9, False, True),
    ]:
        patterns = patterns_of(rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1))
        assert need_visits(patterns, SquaredHinge(1.0)) is squared
        assert need_visits(patterns, Hinge(1.0)) is bounded


@each_loss
def test_steps_that_take_long_are_given_up_without_a_hessian(loss):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((np.ones(8000), rng.integers(0, 300, 8000), np.arange(0, 8001, 8)), (1000, 300))
    X.sum_duplicates()
    y = np.where(X @ rng.normal(size=300) > 0, 1, -1)  # separable
    fit = Mpu(loss=loss, C=1e4, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert fit.n_visits_ < 1000 * (2000 if loss == "hinge" else 700)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("mpu", "hinge")] + [(name, "squared_hinge") for name in ("mpu", "pdm", "mpcs", "mpvs")],
)
def test_many_patterns_of_many_features_are_settled_without_a_hessian(name, loss, monkeypatch):
    kinds = []
    monkeypatch.setattr(
        newton, "ImplicitCurvature", lambda *given: kinds.append(given) or ImplicitCurvature(*given)
    )
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 300, 0.02, format="csr", random_state=0)
    y = np.where(X @ rng.normal(size=300) + 0.5 * rng.normal(size=2000) > 0, 1, -1)
    parameters = {"loss": loss} if name == "mpu" else {}
    fit = margins.get(name)(C=1e3, eps=1e-3, random_state=0, **parameters).fit(X, y)
    assert fit.converged_
    assert kinds
    assert fit.n_visits_ < 2000 * (2000 if loss == "hinge" else 200)
    # The certificate, from coef_ and dual_coef_ alone.
    Y = oracles.patterns_of(X.toarray(), y, 1.0)
    w = np.append(fit.coef_[0], fit.intercept_)
    slacks = np.maximum(1 - Y @ w, 0)
    primal = w @ w / 2 + 1e3 * (slacks.sum() if loss == "hinge" else slacks @ slacks)
    assert primal == pytest.approx(fit.certificates_[0].primal, rel=1e-9)
    slow = margins.get("mpu")(C=1e3, eps=1e-2, random_state=1, newton=False, max_iter=10_000, loss=loss)
    slow.fit(X, y)
    assert slow.certificates_[0].dual <= primal * (1 + 1e-9)
    assert fit.certificates_[0].dual <= slow.certificates_[0].primal * (1 + 1e-9)


def test_steps_are_worth_more_visits_the_more_features_there_are():
    rng = np.random.default_rng(0)
    worth, few = {}, {}
    for m, d in [(3000, 10), (3000, 100), (3000, 1000), (3001, 1000), (1100, 1000)]:
        patterns = patterns_of(rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1), 1.0)
        worth[m, d], few[m, d] = presentations_worth(patterns, SquaredHinge(1.0)), are_few(patterns)
    assert (
        3
        < worth[3000, 10]
        < worth[3000, 100]
        < worth[3001, 1000]
        < worth[3000, 1000]
        < worth[1100, 1000]
    )
    # Of 1000 features, 3000 x 1000^2 / 130 nanoseconds and more are some ten times 3000 x 1000 x 0.7.
    assert 10 < worth[3001, 1000] < 60
    assert list(few.values()) == [False, False, True, False, True]
    # A sparse pattern's outer product is one of its elements only.
    y = np.where(np.arange(20_000) % 2, 1, -1)
    X = sparse.random(20_000, 200, 0.02, format="csr", random_state=0)
    dense = patterns_of(X.toarray(), y)
    assert presentations_worth(patterns_of(X, y), SquaredHinge(1.0)) < 5
    assert presentations_worth(dense, SquaredHinge(1.0)) > 5
    # Without a small Hessian, steps make passes, those of the hinge loss more of them.
    X = patterns_of(sparse.random(20_000, 1000, 0.005, format="csr", random_state=0), y)
    assert 20 < presentations_worth(X, SquaredHinge(1.0)) < presentations_worth(X, Hinge(1.0))


def _with_steps_counted(monkeypatch):
    """Epochs of Newton steps, appended as they are played."""
    played, play = [], newton.NewtonEpochs.__call__

    def counted(self, run):
        played.append(run.n_epochs)
        return play(self, run)

    monkeypatch.setattr(newton.NewtonEpochs, "__call__", counted)
    return played


@quiet
@each_loss
@pytest.mark.parametrize(
    ("rank", "C", "steps"),
    [
        (350, 1.0, False),  # separable, as 360 random patterns of 350 features are
        (350, 100.0, False),
        (5, 1e-4, False),  # what visits find left is little
        (5, 1e3, True),  # not separable: patterns of five dimensions, labelled at random
    ],
)
def test_few_patterns_are_left_to_visits_unless_these_are_outpaced(loss, rank, C, steps, monkeypatch):
    played = _with_steps_counted(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 350))
    X = X if rank == 350 else X[:, :rank] @ X[:rank] / math.sqrt(rank)
    y = rng.choice([-1, 1], 360)
    fit = Mpu(loss=loss, C=C, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert bool(played) is steps
    if steps:
        slow = Mpu(loss=loss, C=C, eps=1e-3, random_state=0, newton=False, max_iter=100).fit(X, y)
        assert fit.n_visits_ < slow.n_visits_ / 3


@pytest.mark.parametrize(("C", "steps"), [(1e-4, False), (1.0, True)])
def test_what_visits_have_nearly_settled_is_left_to_them(C, steps, monkeypatch):
    played = _with_steps_counted(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    fit = Mpu(C=C, eps=1e-3, random_state=0).fit(X, y)
    assert fit.converged_
    assert bool(played) is steps


def test_the_hessian_is_small_where_it_is_no_larger_than_the_patterns():
    X = np.zeros((20, 4))
    y = np.where(np.arange(20) % 2, 1, -1)
    X.ravel()[:25] = 1.0  # 25 non-zeros: as many as 5 x 5, intercept counted
    for layout in ALL_LAYOUTS.values():
        assert has_small_hessian(patterns_of(layout(X), y, 1.0))
    X[0, 0] = 0.0
    for layout in ALL_LAYOUTS.values():
        assert not has_small_hessian(patterns_of(layout(X), y, 1.0))
        assert has_small_hessian(patterns_of(layout(X), y, 0.0))  # 24 >= 4 x 4


@pytest.mark.parametrize("shape", [(360, 350), (3000, 200)])
def test_a_threshold_of_zero_is_none_for_passes(shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.choice([-1, 1], shape[0])
    assert Mpu(C=1e-3, eps=1e-3, before_run=1.0, random_state=0).fit(X, y).converged_


def test_newton_steps_serve_where_the_hessian_is_small_or_patterns_are_many():
    X, y = np.ones((20, 4)), np.where(np.arange(20) % 2, 1, -1)
    few = np.eye(12, 4)  # 3 times the features
    for loss in (SquaredHinge(1.0), Hinge(1.0)):
        assert newton.serves(patterns_of(X, y, 1.0), loss)
        assert (
            newton.serves(patterns_of(X[:6], y[:6], 1.0), loss) is False
        )  # 24 elements of few patterns
        assert newton.serves(patterns_of(few, y[:12], 1.0), loss) is False
        assert newton.serves(patterns_of(np.eye(13, 4), y[:13], 1.0), loss) is True  # of 4 elements
    assert not newton.serves(patterns_of(X, y, 1.0), HardMargin())
    kernel = SimpleNamespace(rows=SimpleNamespace(is_kernel=True))
    assert not newton.serves(kernel, SquaredHinge(1.0))


@pytest.mark.parametrize("layout", ALL_LAYOUTS)
def test_non_zeros_are_counted_whatever_is_stored(layout):
    for X, _ in (integers(), integers(ones=True)):
        rows, count = rows_of(ALL_LAYOUTS[layout](X)), np.count_nonzero(X)
        # What has been counted is kept from one question to the next.
        for least in (1, count // 2, count, count + 1, count, 0):
            assert rows.has_nonzeros(least) == (least <= count)


@quiet
@pytest.mark.parametrize(
    "params",
    [{"newton": False}, {"stop": "clean-pass"}, {"C": math.inf}, {"kernel": "rbf"}, {"kernel": "poly"}],
)
def test_papers_algorithm_visits_only(params, monkeypatch):
    def refuse(run):
        raise AssertionError("Newton steps")

    monkeypatch.setattr("margins.solvers.newton.stages.NewtonEpochs", refuse)
    X, y = clouds()
    with pytest.raises(AssertionError, match="Newton steps"):
        Mpu().fit(X, y)
    Mpu(max_iter=5, eps=0.1, **params).fit(X, y)


def test_who_takes_newton_steps():
    takers = {n for n in margins.available() if issubclass(margins.get(n), NewtonClassifier)}
    assert {"mpu", *OTHERS} <= takers
    assert all(margins.get(name).newton for name in takers)


@pytest.mark.parametrize("name", OTHERS)
def test_paper_runs_take_no_newton_steps(name):
    X, y = clouds(m=200)
    for params in ({"stop": "clean-pass"}, {"C": math.inf, "max_iter": 20}):
        both = [
            margins.get(name)(newton=steps, eps=0.125, random_state=0, **params)
            for steps in (True, False)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one, other = (classifier.fit(X, y) for classifier in both)
        assert one.n_updates_ == other.n_updates_
        assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize(
    ("name", "parameters", "most"),
    [
        ("mpu", {"loss": "squared_hinge"}, 2500),
        ("mpu", {"loss": "hinge"}, 20_000),
        ("pdm", {}, 2500),
        ("mpcs", {}, 2500),
        ("mpvs", {}, 2500),
    ],
)
def test_of_the_squared_hinge_loss_a_part_is_visited_before_steps(name, parameters, most):
    X, y = integers(m=20_000, d=20)
    fit = margins.get(name)(eps=1e-6, random_state=0, **parameters).fit(X, y)
    assert fit.converged_
    assert most / 4 < fit.learning_curve_[0][0].mistakes <= most
    # A run of one epoch presents them all.
    with pytest.warns(ConvergenceWarning):
        short = margins.get(name)(eps=1e-6, max_iter=1, random_state=0, **parameters).fit(X, y)
    assert short.n_visits_ == 20_000
