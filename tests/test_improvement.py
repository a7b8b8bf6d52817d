"""Fits prove what users mean, whatever the units: a share of what can be won over a constant."""

from fractions import Fraction

import numpy as np
import pytest
from algorithm_groups import quiet
from covering import every_pair
from exact_optima import rational_objective
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

import margins
from margins.certificate import Standing
from margins.data.chunks import Chunks
from margins.regularisers import Weighted

LOSSES = ("squared_hinge", "hinge")
INTERCEPTS = {"penalised": {}, "free": {"penalize_intercept": False}, "none": {"fit_intercept": False}}
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)


def eeg(rare=False):
    """200 epochs with 60 channels, eight of which differ between the classes."""
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 10 == 0 if rare else np.arange(200) % 2).astype(int)
    X = rng.normal(size=(200, 60))
    X[:, :8] += 0.5 * y[:, None]
    return X, y


def iris():
    X, y = load_iris(return_X_y=True)
    return X[50:], y[50:] - 1


def make(**params):
    return margins.MarginClassifier(**{"random_state": 0} | params)


def auc(classifier, X, y):
    return roc_auc_score(y, classifier.decision_function(X))


# ------------------------------------------------------------------------------------------ small units


def test_epochs_in_millivolts_are_learnt_with_the_defaults():
    X, y = eeg()
    fitted = margins.MarginClassifier().fit(1e-3 * X, y)
    assert fitted.converged_ and auc(fitted, X, y) > 0.88
    (certificate,) = fitted.certificates_
    assert certificate.improvement >= 0.9
    assert "% of the possible improvement" in str(certificate)


@quiet
@pytest.mark.parametrize(
    ("factor", "intercept", "loss"), every_pair([1e-80, 1e-140, 1e-160], INTERCEPTS, LOSSES)
)
def test_the_smallest_units_end_without_an_error(loss, intercept, factor):
    X = np.random.default_rng(0).normal(size=(8, 50)) * factor
    params = {"loss": loss, "max_iter": 30} | INTERCEPTS[intercept]
    for y in (np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.arange(8) % 3):
        for fitted in (make(**params).fit(X, y), make(**params).fit(sparse.csr_array(X), y)):
            assert np.isfinite(fitted.coef_).all() and np.isfinite(fitted.intercept_).all()
        make(multi_class="ovo", **params).fit(X, y)
        make(kernel="rbf", **params).fit(X, y)
        make(kernel="precomputed", **params).fit(X @ X.T, y)
        make(**params).fit(Chunks([(X[:4], y[:4]), (X[4:], y[4:])]))
        margins.svm_path(X, y > 0, Cs=[0.1, 1e3], **params)


@quiet
@each_loss
@pytest.mark.parametrize("penalty", ["l2", Weighted(2.0)])
def test_no_constant_is_optimal_only_because_an_intercept_is_in_larger_units(loss, penalty):
    """A penalised intercept makes all samples about 1 long: features are measured without it."""
    X, y = eeg()
    tiny = 1e-10 * X
    chunks = Chunks([(tiny[:90], y[:90]), (tiny[90:], y[90:])])
    for data in (tiny, y), (sparse.csr_array(tiny), y), (chunks,):
        fitted = make(loss=loss, penalty=penalty, max_iter=50).fit(*data)
        assert not fitted.converged_ or auc(fitted, tiny, y) > 0.8


@pytest.mark.parametrize(
    ("params", "least"), [({}, 0.98), ({"loss": "hinge", "penalize_intercept": False}, 0.88)]
)
def test_a_small_C_still_ranks_the_samples(params, least):
    X, y = iris()
    assert auc(make(C=1e-4, **params).fit(X, y), X, y) > least


def test_the_small_end_of_the_default_grid_is_scored_like_a_model():
    X, y = iris()
    selected = margins.MarginClassifierCV(scoring="roc_auc", random_state=0).fit(X, y)
    assert selected.scores_[:, 0].mean() > 0.97


@each_loss
@each_intercept
@pytest.mark.parametrize("storage", ["dense", "sparse", "chunks", "kernel", "path", "folds", "ovo"])
def test_every_way_to_fit_proves_the_improvement(storage, loss, intercept):
    X, y = eeg()
    X, params = 1e-4 * X, {"loss": loss, "random_state": 0} | INTERCEPTS[intercept]
    data = {"kernel": X @ X.T, "sparse": sparse.csr_array(X)}.get(storage, X)
    if storage == "path":
        path = margins.svm_path(X, y, Cs=[0.1, 1.0], **params)
        fitted = path.classifiers[1]
        assert path.converged.all() and fitted.certificates_ == path.certificates[1]
    elif storage == "chunks":
        fitted = make(**params).fit(Chunks([(X[:70], y[:70]), (X[70:], y[70:])]))
    elif storage == "folds":
        fitted = margins.MarginClassifierCV(Cs=[1.0], cv=3, **params).fit(X, y)
    elif storage == "ovo":
        three = np.concatenate([X, X[:40] + 3e-4]), np.append(y, np.full(40, 2))
        fitted = make(multi_class="ovo", **params).fit(*three)
        assert fitted.pairs_[0].tolist() == [0, 1]  # the positive class first
        assert roc_auc_score(y == 0, X @ fitted.coef_[0]) > 0.87
    else:
        kernel = "precomputed" if storage == "kernel" else "linear"
        fitted = make(kernel=kernel, **params).fit(data, y)
    assert fitted.converged_ and all(each.improvement >= 0.9 for each in fitted.certificates_)
    assert storage == "ovo" or auc(fitted, data, y) > 0.87


@each_loss
@each_intercept
@pytest.mark.parametrize("rare", [False, True])
def test_no_unit_turns_a_model_into_a_constant(loss, intercept, rare):
    X, y = eeg(rare)
    params = {"loss": loss} | INTERCEPTS[intercept]
    for factor in (1e-5, 1e-3, 0.1, 1e4):
        fitted = make(**params).fit(factor * X, y)
        assert auc(fitted, factor * X, y) > 0.8, factor


# ---------------------------------------------------------------------------------- nothing can be won


@each_loss
@each_intercept
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_positive", [5, 2])
def test_without_a_signal_the_constant_classifier_is_proven(loss, intercept, kernel, n_positive):
    rng = np.random.default_rng(1)
    row = rng.normal(size=(1, 3))
    same = np.repeat(row, 10, axis=0)
    pairs = np.repeat(rng.normal(size=(5, 3)), 2, axis=0)
    for X, y in [
        (np.zeros((10, 3)), np.arange(10) < n_positive),
        (same, np.arange(10) < n_positive),
        (pairs, np.arange(10) % 2 == 0),
    ]:
        if intercept == "none" and kernel == "linear" and not X.any():
            continue
        fitted = make(loss=loss, kernel=kernel, **INTERCEPTS[intercept]).fit(X, y)
        assert fitted.converged_, (X, y)
        assert 0.9 <= fitted.certificates_[0].improvement <= 1


@pytest.mark.parametrize("seed", [9, 33])
def test_random_labels_end_by_the_proof_that_nothing_can_be_won(seed):
    """The sum of the samples cancels to the square root of rounding, and no further."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    fitted = make(loss="hinge", C=0.001, penalize_intercept=False).fit(X, y)
    assert fitted.converged_ and fitted.certificates_[0].improvement == 1


@pytest.mark.parametrize(("seed", "C", "n_rare"), [(1, 1e-4, 1), (3, 1e-2, 3), (26, 0.5, 1)])
def test_a_rare_class_amid_the_other_ends_by_that_proof(seed, C, n_rare):
    """Newton steps leave more of the sum of the samples than the proof allows."""
    X, y = np.random.default_rng(seed).normal(size=(200, 5)), np.arange(200) < n_rare
    X[:n_rare] *= 0.3
    fitted = make(loss="hinge", C=C, penalize_intercept=False, random_state=0).fit(X, y)
    assert fitted.converged_ and fitted.certificates_[0].improvement == 1


def test_the_hard_margin_wins_all_or_nothing():
    separable = make(C=np.inf).fit([[1.0], [-1.0]], [0, 1])
    assert separable.certificates_[0].improvement == 1
    with pytest.warns(ConvergenceWarning):
        mixed = make(C=np.inf, max_iter=20).fit([[1.0], [-1.0], [2.0]], [0, 1, 1])
    assert mixed.certificates_[0].improvement == 0


# ----------------------------------------------------------------------------------------------- truth


@quiet
@examples(30)
@given(
    seed=st.integers(0, 10**6),
    exponent=st.integers(-8, 2),
    loss=st.sampled_from(LOSSES),
    intercept=st.sampled_from(["penalised", "none"]),
    max_iter=st.sampled_from([1, 2, 100]),
)
def test_the_share_is_true_in_rational_arithmetic(seed, exponent, loss, intercept, max_iter):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-4, 5, (8, 2)) * 10.0**exponent, np.arange(8) % 2
    params = {"loss": loss, "fit_intercept": intercept == "penalised"}
    fitted = make(max_iter=max_iter, **params).fit(X, y)
    best = make(eps=1e-9, **params).fit(X, y)
    arguments = X, y, 1.0, loss
    # The classes are balanced, so that the best constant is 0.
    constant = rational_objective([0.0, 0.0], 0.0, *arguments)
    won = constant - rational_objective(fitted.coef_[0], fitted.intercept_[0], *arguments)
    most = constant - rational_objective(best.coef_[0], best.intercept_[0], *arguments)
    share = Fraction(fitted.certificates_[0].improvement)
    if share < 1 or most > constant * Fraction(1, 10**12):
        assert share * most <= max(won, 0) + Fraction(1, 10**6) * most
    assert best.certificates_[0].improvement > 0.999 or not best.converged_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("unit", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@each_loss
def test_the_share_is_true_of_the_coefficients_far_from_0(unit, offset, loss):
    params = {"loss": loss, "penalize_intercept": False}
    for seed, (n_samples, n_features, period) in enumerate([(12, 3, 2), (12, 3, 4), (8, 12, 2)]):
        Z = unit * np.random.default_rng(seed).normal(size=(n_samples, n_features))
        y, X = np.arange(n_samples) % period == 0, offset + Z
        fitted, best = make(**params).fit(X, y), make(eps=1e-8, **params).fit(Z, y)
        counts = int(y.sum()), int((~y).sum())
        of_hinge = Fraction(2 * min(counts))
        constant = of_hinge if loss == "hinge" else Fraction(4 * counts[0] * counts[1], len(y))
        won, most = (
            constant - rational_objective(model.coef_[0], model.intercept_[0], data, y, 1.0, loss, False)
            for model, data in [(fitted, X), (best, Z)]
        )
        share = Fraction(fitted.certificates_[0].improvement)
        assert share * most <= max(won, 0) + Fraction(1, 1000) * most, (seed, n_samples)


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_weak_features_of_rare_classes_win_nothing(offset):
    for seed in range(10):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(100, 3)) + offset, random.random(100) < 0.1
        fitted = make(loss="hinge", penalize_intercept=False).fit(X, y)  # a warning is an error
        [certificate] = fitted.certificates_
        assert certificate.primal == pytest.approx(2 * y.sum(), rel=1e-9)
        assert fitted.converged_ and certificate.improvement == 1 and not fitted.predict(X).any()


@pytest.mark.parametrize("params", [{}, {"gamma": 1e-3}])
def test_weak_features_of_rare_classes_win_nothing_with_a_kernel(params):
    random = np.random.default_rng(0)
    X = random.random((2000, 2))
    y = random.random(2000) < 0.2 * X[:, 0]
    fitted = make(loss="hinge", kernel="rbf", penalize_intercept=False, **params).fit(X, y)
    assert fitted.certificates_[0].improvement == 1 and not fitted.predict(X).any()
    assert [phase.solver for phase in fitted.phases_[0]] == ["decomposition"]


@pytest.mark.parametrize("spread", [1e3, 1e5])
@pytest.mark.parametrize("C", [1e-12, 1e-9, 1e-6, 1.0])
def test_a_signal_far_below_the_spread_is_found(spread, C):
    random = np.random.default_rng(0)
    y = np.arange(300) % 10 == 0
    X = np.c_[spread * random.normal(size=(300, 2)), 2.0 * y]  # noise that few samples can cancel
    scores = make(loss="hinge", penalize_intercept=False, C=C).fit(X, y).decision_function(X)
    assert scores[y].min() > scores[~y].max()


@examples(50)
@given(
    constant=st.floats(1e-6, 1e6),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    length=st.floats(0, 1),
)
def test_the_share_follows_from_three_objectives(constant, shares, length):
    primal = constant * (0.1 + 0.9 * max(shares))
    dual = constant * (0.1 + 0.9 * min(shares)) * 0.99
    improvement = Standing(constant, 0.0).improvement(primal, dual)
    assert improvement == pytest.approx(max((constant - primal) / (constant - dual), 0), abs=1e-6)
    # What else is known can only help.
    assert Standing(constant, length * 1e-3).improvement(primal, dual) >= improvement
    assert Standing(constant, 0.0, accurate_gap=0.0).improvement(primal, dual) == 1


def test_a_long_model_or_an_accurate_gap_prove_a_larger_share():
    standing = Standing(1.0, length=0.5, accurate_gap=0.02)
    # The optimum is at least 0.5 - sqrt(2 * 0.02) = 0.3 long, so at least 0.3^2 / 2 can be won.
    assert standing.improvement(1.2, 0.99) == pytest.approx(1 - 0.02 / 0.045)
    assert standing.raised(-0.01) == standing and standing.raised(0.01).accurate_gap == 0.03
    assert Standing(1.0, 0.0, 0.0).raised(0.1).improvement(0.6, 0.5) == 1
    assert Standing(1.0, 0.0).required_gap(0.5, 0.6, 0.5) == pytest.approx(0.5, rel=1e-12)
    assert Standing(1.0, 0.0).required_gap(0.5, 1.0, 1.0) > 0


# --------------------------------------------------------------------------------- who asks, who is told


def test_published_algorithms_keep_their_rules_and_show_the_field():
    X, y = eeg()
    fitted = margins.get("pdm")(eps=0.01, random_state=0).fit(1e-3 * X, y)
    assert fitted.converged_ and fitted.certificates_[0].fraction >= 0.99
    assert fitted.certificates_[0].improvement < 0.9


def test_a_fit_that_is_stopped_says_what_is_missing():
    X, y = eeg(rare=True)
    text = (
        r"0 % of the possible improvement .* 90 % is required.*multiply the features by a common factor"
    )
    with pytest.warns(ConvergenceWarning, match=text):
        make(loss="hinge", C=1e-8, penalize_intercept=False).fit(1e-6 * X, y)
    with pytest.warns(ConvergenceWarning, match=r"is proven; 99\.9968 % is required"):
        make(eps=1e-9, max_time=1e-9).fit(X, y)


def test_explain_names_the_share():
    X, y = eeg()
    explanation = make(eps=0.04).explain(X, y)
    assert explanation.required_improvement == pytest.approx(0.8)
    assert "80 % of the possible improvement" in repr(explanation)
