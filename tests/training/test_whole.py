"""Small problems that are solved without a run: proofs by exact sums, and against runs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import clouds
from sample_problems import data_of
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

import margins
from margins._update import WeightVector
from margins.solvers.decomposition._class_pairs import ClassPairs
from margins.solvers.decomposition._whole import minimise_whole
from margins.training.whole import WholeProblems

KERNELS = {"linear": {}, "rbf": {"gamma": 0.3}, "poly": {"gamma": 0.3, "coef0": 1.0}}


@pytest.fixture
def solved(monkeypatch):
    """For each problem of the fits of a test, whether it was solved without a run."""
    ends, outcome = [], WholeProblems.outcome

    def record(self, index):
        ends.append(outcome(self, index))
        return ends[-1]

    monkeypatch.setattr(WholeProblems, "outcome", record)
    return ends


def of_pair(fit, X, y, index):
    """Samples and signs of a problem, its dual variables (signed by the labels), and its scores."""
    if not hasattr(fit, "pairs_"):
        signs, chosen, row = np.where(y == fit.classes_[1], 1.0, -1.0), np.ones(len(y), bool), 0
    else:
        first, second = fit.pairs_[index]
        chosen = (y == first) | (y == second)
        signs, row = np.where(y[chosen] == first, 1.0, -1.0), np.where(y == first, second - 1, first)
    dual = np.zeros((len(fit.dual_coef_), len(y)))
    if fit.kernel == "linear":
        dual[:] = fit.dual_coef_
        dual = dual[row, np.arange(len(y))][chosen] * signs
    else:
        dual[:, fit.support_] = fit.dual_coef_
        dual = dual[row, np.arange(len(y))][chosen]
    return chosen, signs, dual


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalize_intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_bounds_equal_those_of_exact_sums(solved, n_classes, kernel, loss, penalize_intercept, weighted):
    X, y = clouds(n_classes, m=120)
    X = X[:, :3] if n_classes == 2 else X
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    C, given = 3.0, KERNELS[kernel]
    fit = margins.MarginClassifier(
        kernel=kernel, **given, C=C, loss=loss, multi_class="ovo", penalize_intercept=penalize_intercept
    ).fit(X, y, weight if weighted else None)
    if kernel == "linear" and n_classes == 2 and loss == "hinge":
        assert not solved  # passes over samples, and Newton steps
        return
    has_steps = kernel == "linear" and loss == "squared_hinge"
    assert len(solved) == len(fit.certificates_) and None not in solved
    assert fit.converged_ and fit.solver_ == ("newton" if has_steps else "decomposition")
    for index, certificate in enumerate(fit.certificates_):
        chosen, signs, b = of_pair(fit, X, y, index)
        K, alpha, penalty = (
            pairwise_kernels(X[chosen], metric=kernel, **given),
            signs * b,
            C * weight[chosen],
        )
        if kernel == "linear":
            w, scores = fit.coef_[index], X[chosen] @ fit.coef_[index]
            sqnorm = w @ w
        else:
            scores, sqnorm = K @ b, b @ K @ b
        if penalize_intercept:
            sqnorm += fit.intercept_[index] ** 2
        slacks = np.maximum(1 - signs * (scores + fit.intercept_[index]), 0)
        losses = penalty * slacks if loss == "hinge" else penalty * slacks**2
        assert certificate.primal == pytest.approx(0.5 * sqnorm + losses.sum(), rel=1e-9)
        assert np.all(alpha >= 0)
        if not penalize_intercept:
            assert abs(b.sum()) <= 1e-12 * alpha.sum()
        # The dual value is that of a multiple of these variables: at most the best multiple's.
        total = b @ (K + penalize_intercept) @ b
        if loss == "squared_hinge":
            total += np.sum(alpha**2 / (2 * penalty))
        scale = alpha.sum() / total
        if loss == "hinge":
            scale = min(scale, np.min(penalty[alpha > 0] / alpha[alpha > 0]))
        best = scale * alpha.sum() - 0.5 * scale * scale * total
        assert certificate.dual <= best * (1 + 1e-9)
        required = 0.01 if loss == "hinge" else 1 / 0.99**2 - 1
        assert certificate.primal / certificate.dual - 1 <= required


def test_dual_variables_at_their_bounds_balance(solved):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(5, 60))
        X, y = rng.standard_normal((m, 2)), (np.arange(m) < rng.integers(1, m - 1)).astype(int)
        fit = margins.MarginClassifier(
            kernel="rbf",
            gamma=0.3,
            C=1e-2,
            class_weight="balanced",
            loss="hinge",
            penalize_intercept=False,
        ).fit(X, y)
        assert abs(fit.dual_coef_.sum()) <= 1e-13 * np.abs(fit.dual_coef_).sum()
    assert sum(outcome is not None for outcome in solved) > 20


@pytest.mark.parametrize("convert", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_runs_and_any_number_of_threads_prove_the_same_optima(solved, kernel, convert):
    X, y = clouds(5, m=150)
    X = convert(X)
    params = dict(kernel=kernel, loss="hinge", multi_class="ovo", penalize_intercept=False, eps=1e-4)
    fit = margins.MarginClassifier(**params).fit(X, y)
    assert len(solved) == 10 and None not in solved
    shared = margins.MarginClassifier(**params, n_jobs=2).fit(X, y)
    assert shared.certificates_ == fit.certificates_
    assert_array_equal(shared.dual_coef_, fit.dual_coef_)
    run = margins.MarginClassifier(**params, solver="decomposition" if kernel == "rbf" else "newton")
    assert_array_equal(run.fit(X, y).predict(X), fit.predict(X))
    assert len(solved) == 20
    for one, other in zip(fit.certificates_, run.certificates_, strict=True):
        assert one.dual <= other.primal * (1 + 1e-9) and other.dual <= one.primal * (1 + 1e-9)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"C": 1e-9}, id="improvement"),  # what a small gap says nothing about
        pytest.param({"C": 1e9, "eps": 1e-9}, id="accuracy"),
        # The same solvers continue from the solution.
        pytest.param({"C": 1e-6, "kernel": "linear"}, id="pairs"),
        pytest.param(
            {"C": 1e-6, "kernel": "linear", "loss": "squared_hinge", "multi_class": "ovr"}, id="steps"
        ),
    ],
)
def test_a_run_solves_what_is_not_proven_at_once(solved, params):
    X, y = clouds(3, m=45, distance=0.5)
    params = {"kernel": "rbf", "loss": "hinge", "multi_class": "ovo", "max_iter": 10_000} | params
    fit = margins.MarginClassifier(**params, penalize_intercept=False).fit(X, y)
    assert solved == [None] * 3
    assert fit.converged_ and len(fit.certificates_) == 3
    for tried, *ran in fit.phases_:
        assert tried.epochs == 0 < tried.accesses
        if fit.C < 1:  # the run continues from the solution: it moves nothing
            assert [record.accesses for record in ran] == [30 if fit.multi_class == "ovo" else 45]


@pytest.mark.parametrize(
    "params", [{"verbose": 1}, {"max_time": 60}, {"C": np.inf}, {"solver": "decomposition"}], ids=str
)
def test_runs_report_keep_to_time_and_serve_other_solvers(solved, capsys, params):
    X, y = clouds(3, m=60, distance=9.0)
    fit = margins.MarginClassifier(kernel="rbf", multi_class="ovo", **params).fit(X, y)
    assert fit.converged_ and solved == []
    assert ("epoch 1" in capsys.readouterr().out) == ("verbose" in params)


def test_a_class_without_weight_has_no_pair(solved):
    X, y = clouds(3, m=60)
    fit = margins.MarginClassifier(kernel="rbf", multi_class="ovo").fit(X, y, (y != 1).astype(float))
    assert fit.converged_ and solved == [] and 1 not in fit.predict(X)


@pytest.mark.parametrize("has_free_intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pair", [(0, 2), (2, 1)])
def test_rows_gathered_on_demand_are_rows_of_the_whole_matrix(pair, dtype, has_free_intercept):
    rng = np.random.default_rng(0)
    ends, X = [0, 30, 55, 95], rng.normal(size=(95, 3))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    classes = ClassPairs(
        [K[begin:end, begin:] for begin, end in zip(ends, ends[1:], strict=False)], ends
    )
    chosen = np.concatenate([np.arange(ends[code], ends[code + 1]) for code in pair])
    m, n_first = len(chosen), ends[pair[0] + 1] - ends[pair[0]]
    signs = np.where(np.arange(m) < n_first, 1.0, -1.0)
    upper, diag = rng.uniform(1, 2, m), rng.uniform(0, 0.1, m)
    limits = upper, diag, has_free_intercept, 1e-5, 1e-3, 100 * m
    b, n_pairs = classes.minimise(*pair, 0.25, *limits)
    of_pair, expected = np.ascontiguousarray(K[np.ix_(chosen, chosen)], np.float32), np.zeros(m)
    n_expected, gap = minimise_whole(of_pair, 0.25, signs, expected, np.zeros(m), *limits)
    assert n_pairs == n_expected > 0 and gap <= 1e-5
    if not has_free_intercept:
        assert_array_equal(b, expected)
    else:
        np.testing.assert_allclose(b, expected, atol=1e-6)
        assert abs(b.sum()) <= 1e-15 * np.abs(b).sum()
    if dtype is np.float64:
        np.testing.assert_allclose(
            classes.sums(*pair, b), K[np.ix_(chosen, chosen)] @ b, rtol=1e-12, atol=1e-14
        )


def test_panels_of_another_shape_and_sums_of_single_precision_are_errors():
    with pytest.raises(
        ValueError, match=r"Panel 1 must have contiguous rows and shape \(2, 2\)\. Got shape \(2, 4\)"
    ):
        ClassPairs([np.zeros((2, 4)), np.zeros((2, 4))], [0, 2, 4])
    classes = ClassPairs([np.zeros((2, 4), np.float32), np.zeros((2, 2), np.float32)], [0, 2, 4])
    with pytest.raises(ValueError, match="double precision, and 4 numbers. Got 4"):
        classes.sums(0, 1, np.zeros(4))


def test_a_sum_of_samples_lacks_no_augmentation():
    X, y = clouds(m=6)
    weights, dual = WeightVector(X.shape[1], 6), np.ones(6)
    with pytest.raises(ValueError, match=f"must have {X.shape[1] + 1} elements. Got {X.shape[1]}"):
        weights.assign(data_of(X, 2 * y - 1), dual, np.zeros(X.shape[1]))
    weights.assign(data_of(X, 2 * y - 1, rho=0), dual, np.zeros(X.shape[1]))
