"""The planner: which phases are planned for which problem, at what cost, and what `explain` says."""

import math
from itertools import product

import numpy as np
import pytest
from algorithm_groups import SOLVERS_OF_LINEAR_DATA, quiet
from problems import clouds, integers
from sample_problems import ALL_LAYOUTS, data_of, tuning_with
from scipy import sparse
from sklearn.base import clone

import margins
from margins.data.binary_data import rows_of
from margins.kernels import Precomputed
from margins.kernels.gram import gram_rows
from margins.losses import HardMargin, Hinge, SquaredHinge
from margins.solvers import auto
from margins.solvers.auto import Costs, candidates, gram_pays, plan
from margins.solvers.base import Problem
from margins.solvers.specification import Specification

EPS = Specification(C=1.0, eps=0.01)

Auto = margins.MarginClassifier
LOSSES = ("squared_hinge", "hinge")
OF = {"squared_hinge": SquaredHinge(1.0), "hinge": Hinge(1.0), "hard margin": HardMargin()}
each_loss = pytest.mark.parametrize("loss", LOSSES)


def alternating(m):
    return np.where(np.arange(m) % 2, 1, -1)


def dense(m, d, loss="squared_hinge", seed=0):
    """A problem of m samples of d features, all of which are stored."""
    X = np.random.default_rng(seed).normal(size=(m, d))
    return Problem(data_of(X, alternating(m)), OF[loss])


def over_kernel(loss, m=50):
    X = np.random.default_rng(0).normal(size=(m, 3))
    data = data_of(X, alternating(m)).over(Precomputed().rows(X @ X.T, 200.0))
    return Problem(data, OF[loss])


def solvers_of(a_plan):
    return [phase.solver for phase in a_plan.phases]


# ------------------------------------------------------------------------------------------- the plan

ALL = ["unlearning", "conjugate", "unlearning", "newton", "conjugate"]


@pytest.mark.parametrize(
    ("m", "d", "loss", "expected"),
    [
        # Few elements: Newton steps from 0, and all the rest in case they do not finish.
        (200, 4, "squared_hinge", ["newton", "unlearning", "newton", "conjugate"]),
        (200, 4, "hinge", ["newton", "unlearning", "unlearning", "newton", "conjugate"]),
        # More than eight features: the hinge loss is accessed first.
        (200, 9, "hinge", ["unlearning", "unlearning", "newton", "conjugate"]),
        # Many elements: both losses are.
        (3000, 10, "squared_hinge", ["unlearning", "newton", "conjugate"]),
        (3000, 10, "hinge", ["unlearning", "unlearning", "newton", "conjugate"]),
        # Newton steps that cost many passes: conjugate passes may take their place.
        (3000, 1000, "squared_hinge", ["unlearning", "conjugate", "newton", "conjugate"]),
        (3000, 1000, "hinge", ALL),
        # Samples are few beside the features.
        (50, 200, "squared_hinge", ["conjugate"]),
        (50, 200, "hinge", ["conjugate"]),
        # Soft margins whose limit it is.
        (50, 200, "hard margin", ["continuation", "unlearning"]),
        (3000, 10, "hard margin", ["continuation", "unlearning"]),
        # Samples are very many: a subsample comes first.
        (32_000, 2, "hinge", ["newton", "unlearning", "unlearning", "newton", "conjugate"]),
    ],
)
def test_size_and_loss_choose_the_phases(m, d, loss, expected):
    found = plan(dense(m, d, loss), EPS)
    assert solvers_of(found) == expected
    assert found.reason


@pytest.mark.parametrize("loss", OF)
def test_over_a_kernel_working_sets_are_planned(loss):
    first = ["continuation"] if loss == "hard margin" else []
    planned = solvers_of(plan(over_kernel(loss), EPS))
    assert planned == [*first, "decomposition", "interior-point"]


def test_over_a_gram_matrix_of_linear_data_samples_are_accessed_one_by_one():
    X = np.random.default_rng(0).normal(size=(50, 3))
    data = data_of(X, alternating(50)).over(gram_rows(X))
    assert solvers_of(plan(Problem(data, Hinge(1.0)), EPS)) == ["conjugate"]


def test_phases_that_may_be_skipped_state_the_condition():
    by_purpose = {
        phase.purpose: phase.condition for phase in plan(dense(3000, 100, "hinge"), EPS).phases
    }
    assert [condition is None for condition in by_purpose.values()].count(False) >= 1
    for phase in plan(dense(3000, 100, "hinge"), EPS).phases:
        assert (f"[{phase.condition}]" in str(phase)) == (phase.condition is not None)
    # Without a small Hessian, or with few samples, conjugate passes are tried in any case.
    conjugate = plan(dense(3000, 1000, "hinge"), EPS).phases[1]
    assert (conjugate.solver, conjugate.condition) == ("conjugate", None)


@pytest.mark.parametrize("solver", auto.SOLVERS)
@pytest.mark.parametrize("loss", OF)
@pytest.mark.parametrize("make", [lambda loss: dense(100, 3, loss), over_kernel])
def test_a_named_solver_is_planned_or_the_reason_is_stated(make, loss, solver):
    problem = make(loss)
    hard, is_kernel = loss == "hard margin", problem.is_kernel
    why_not = None
    if solver == "newton" and (hard or is_kernel):
        why_not = "which a kernel does not provide" if is_kernel else "no finite objective"
    elif solver == "conjugate" and hard:
        why_not = "the hard margin"
    elif solver in ("decomposition", "interior-point") and not is_kernel:
        why_not = "and linear data have none"
    (candidate,) = (one for one in candidates(problem, 0.01) if one.solver == solver)
    if why_not is None:
        assert solvers_of(plan(problem, EPS, solver))[0] == solver
        assert candidate.passes > 0 and candidate.why_not is None
        return
    assert candidate.passes is None and why_not in candidate.why_not
    with pytest.raises(
        ValueError, match=f"solver='{solver}' is not applicable here: .*{why_not}"
    ) as error:
        plan(problem, EPS, solver)
    serving = [one.solver for one in candidates(problem, 0.01) if one.why_not is None]
    assert str(error.value).endswith("Allowed here: " + ", ".join(map(repr, ["auto", *serving])) + ".")


@quiet
@pytest.mark.parametrize("C", [1.0, math.inf])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@each_loss
def test_every_applicable_solver_proves_the_same_optimum(loss, kernel, C):
    X, y = clouds(m=60, d=30)
    params = {"loss": loss, "kernel": kernel, "C": C, "eps": 1e-3, "max_iter": 5000, "random_state": 0}
    explanation = Auto(**params).explain(X, y)
    names = [one.solver for one in explanation.candidates if one.why_not is None]
    assert {"unlearning", "dcd"} <= set(names)
    fits = {name: Auto(solver=name, **params).fit(X, y) for name in ("auto", *names)}
    for name, fitted in fits.items():
        assert fitted.converged_, name
        assert fitted.solver_ == name or name == "auto"
        for other in fits.values():
            assert fitted.certificates_[0].dual <= other.certificates_[0].primal * (1 + 1e-9)


# --------------------------------------------------------------------------------------- sizes and costs


def test_accesses_come_before_steps_unless_they_cost_more():
    rng = np.random.default_rng(0)
    for m, d, squared, bounded in [
        (2500, 8, False, False),  # 20,000 elements
        (2501, 8, True, True),
        (2000, 10, False, True),  # 20,000 elements
        (2001, 10, True, True),
        (100, 9, False, True),
    ]:
        data = data_of(rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1))
        assert Costs(Problem(data, SquaredHinge(1.0))).needs_passes is squared
        assert Costs(Problem(data, Hinge(1.0))).needs_passes is bounded


def has_small_hessian(X, y, rho):
    return Costs(Problem(data_of(X, y, rho), SquaredHinge(1.0))).has_small_hessian


def test_a_hessian_is_small_if_it_is_not_larger_than_the_samples():
    X = np.zeros((20, 4))
    y = np.where(np.arange(20) % 2, 1, -1)
    X.ravel()[:25] = 1.0  # 25 non-zeros: as many as 5 x 5, intercept counted
    for layout in ALL_LAYOUTS.values():
        assert has_small_hessian(layout(X), y, 1.0)
    X[0, 0] = 0.0
    for layout in ALL_LAYOUTS.values():
        assert not has_small_hessian(layout(X), y, 1.0)
        assert has_small_hessian(layout(X), y, 0.0)  # 24 >= 4 x 4


def test_dense_samples_of_more_than_a_few_features_are_added_in_blocks():
    assert Costs(dense(600, 20)).adds_in_blocks
    assert not Costs(dense(600, 5)).adds_in_blocks
    X = sparse.random(600, 40, 0.1, format="csr", random_state=0)
    assert not Costs(Problem(data_of(X, alternating(600)), SquaredHinge(1.0))).adds_in_blocks
    filled = Problem(data_of(X.toarray() + 1, alternating(600)), SquaredHinge(1.0))
    assert Costs(filled).adds_in_blocks


def test_newton_steps_are_applicable_with_a_small_hessian_or_many_samples():
    X, y = np.ones((20, 4)), alternating(20)
    few = np.eye(12, 4)  # 3 times the features
    for loss in (SquaredHinge(1.0), Hinge(1.0)):
        for rows, expected in [
            (X, True),
            (X[:6], False),  # 24 elements of few samples
            (few, False),
            (np.eye(13, 4), True),  # of 4 elements
        ]:
            found = plan(Problem(data_of(rows, y[: len(rows)], 1.0), loss), EPS)
            assert ("newton" in solvers_of(found)) is expected
    assert "newton" not in solvers_of(plan(Problem(data_of(X, y, 1.0), HardMargin()), EPS))


@pytest.mark.parametrize(
    ("shape", "density", "expected"),
    [((10, 80), 1, True), ((10, 79), 1, False), ((10, 1000), 0.25, True), ((10, 10_000), 0.1, False)],
)
def test_few_samples_with_many_stored_elements_use_a_gram_matrix(shape, density, expected):
    X = (
        np.ones(shape)
        if density == 1
        else sparse.random(*shape, density=density, random_state=np.random.default_rng(0), format="csr")
    )
    assert gram_pays(X) is expected
    other = tuning_with(gram={"min_ratio": math.inf if expected else 0, "min_density": 0.0})
    assert gram_pays(X, other) is not expected


def test_non_zeros_are_counted_in_every_storage():
    for layout, (X, _) in product(ALL_LAYOUTS, (integers(), integers(ones=True))):
        rows, count = rows_of(ALL_LAYOUTS[layout](X)), np.count_nonzero(X)
        # What has been counted is kept from one call to the next.
        for least in (1, count // 2, count, count + 1, count, 0):
            assert rows.has_nonzeros(least) == (least <= count), (layout, least)


# -------------------------------------------------------------------------------------------- explain


def test_explanations_say_what_is_planned_and_what_it_costs():
    X, y = clouds(m=200, d=4, n_classes=3)
    X[X < 0] = 0
    weight = np.where(np.arange(200) % 10, 1.0, 0.0)
    explanation = Auto(loss="hinge", eps=1e-3, C=2.0).explain(sparse.csr_array(X), y, weight)
    assert (explanation.n_samples, explanation.n_features, explanation.n_problems) == (180, 4, 3)
    assert explanation.n_nonzeros == np.count_nonzero(X[weight > 0])
    assert (explanation.loss, explanation.kernel, explanation.rows) == ("hinge", "linear", "X")
    assert explanation.eps == explanation.required_gap == 1e-3
    assert [one.solver for one in explanation.candidates] == list(auto.SOLVERS)
    of_kernels = ("decomposition", "interior-point")
    assert all(one.passes > 0 for one in explanation.candidates if one.solver not in of_kernels)
    assert explanation.solver == "newton + unlearning + newton + conjugate"
    text = repr(explanation)
    for part in ("180 samples x 4 features", "3 binary problems", "loss='hinge'", "eps=0.001"):
        assert part in text
    assert explanation.plan.reason in text
    for phase in explanation.plan.phases:
        assert str(phase) in text
    for name in auto.SOLVERS:
        assert f"  {name} " in text


def test_explanations_say_why_a_candidate_is_not_applicable():
    X, y = clouds()
    hard = Auto(C=math.inf).explain(X, y)
    assert hard.loss == "hard margin"
    assert hard.solver == "continuation + unlearning"
    assert hard.required_gap == pytest.approx(1 / 0.99**2 - 1)
    why_not = {one.solver: one.why_not for one in hard.candidates}
    assert why_not["unlearning"] is why_not["dcd"] is None
    assert why_not["newton"] in repr(hard) and why_not["conjugate"] in repr(hard)
    over_rbf = Auto(kernel="rbf").explain(X, y)
    assert (over_rbf.kernel, over_rbf.rows, over_rbf.solver) == (
        "rbf",
        "kernel",
        "decomposition + interior-point",
    )


def test_explanations_say_when_a_gram_matrix_is_read():
    X, y = clouds(m=10, d=300)
    explanation = Auto().explain(X, y)
    assert explanation.rows == "Gram matrix"
    assert explanation.solver == "conjugate"
    assert "reads the Gram matrix" in repr(explanation)


@pytest.mark.parametrize("solver", ["auto", *SOLVERS_OF_LINEAR_DATA])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_explain_trains_and_changes_nothing(is_fitted, solver, monkeypatch):
    X, y = clouds()
    classifier = Auto(solver=solver, random_state=0)
    if is_fitted:
        classifier.fit(X, y)
    before = dict(vars(classifier))
    monkeypatch.setattr("margins.estimators.base.Run.train", lambda *_: pytest.fail("trained"))
    classifier.explain(X[:, :2], y)
    assert vars(classifier).keys() == before.keys()
    assert all(vars(classifier)[name] is value for name, value in before.items())
    with pytest.raises(pytest.fail.Exception, match="trained"):
        clone(classifier).set_params(max_time=1e9).fit(X, y)  # with a run, although samples are few


@pytest.mark.parametrize("bad", [{"C": -1.0}, {"eps": 0.0}, {"solver": "fastest"}])
def test_explain_checks_parameters_as_fit_does(bad):
    X, y = clouds()
    errors = []
    for call in ("fit", "explain"):
        with pytest.raises(ValueError) as error:
            getattr(Auto(**bad), call)(X, y)
        errors.append(str(error.value))
    assert errors[0] == errors[1]
