"""Permutation tests: valid p-values, and fits that share inner products as if they were made alone."""

import itertools
import math
import pickle

import numpy as np
import pytest
from covering import every_pair
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import margins
from margins import MarginClassifier
from margins.data.validation import validate_samples
from margins.model_selection import FitFailed, PermutationTest, permutation, permutation_test
from margins.model_selection.gram_folds import GramFolds

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 20)
X = rng.standard_normal((40, 200))
X[y == 1, :10] += 0.5
HALVES = [(np.arange(40)[::2], np.arange(40)[1::2])]

CLASSIFIERS = {
    "two": {},
    "hinge": {"loss": "hinge", "C": 0.01},
    "free": {"penalize_intercept": False},
    "free hinge": {"penalize_intercept": False, "loss": "hinge", "C": 0.01},
    "without": {"fit_intercept": False},
    "scaled": {"intercept_scaling": 10.0, "C": 1e-4},
    "weights": {"class_weight": "balanced", "C": 1e-3},
    "a weight of 0": {"class_weight": {0: 1, 1: 1, 2: 0}},
    "pairs": {"multi_class": "ovo"},
    "free pairs": {"multi_class": "ovo", "penalize_intercept": False, "loss": "hinge"},
}
KINDS = {"dense": np.asarray, "csr": sparse.csr_array, "far": lambda X: X + 50}


@pytest.mark.parametrize(("name", "kind", "n_classes"), every_pair(CLASSIFIERS, KINDS, [2, 3]))
def test_shared_fits_equal_fits_made_alone(name, kind, n_classes):
    rng, labels, eps = np.random.default_rng(0), np.arange(60) % n_classes, 1e-6
    data = rng.standard_normal((60, 80))
    data[:, :2] += labels[:, None]
    data, classifier = KINDS[kind](data), MarginClassifier(eps=eps, **CLASSIFIERS[name])
    folds = GramFolds(classifier, validate_samples(classifier, data, labels, "fit"))
    assert folds.reason is None
    for repeats in (False, False, True):  # as in bootstraps
        order = rng.choice(60, 60, replace=repeats)
        train, test, codes = order[:45], order[45:], rng.permutation(labels)
        model = folds.model(train, test, codes[train])
        alone = clone(classifier).fit(data[train], codes[train])
        if model is None:  # then the fit is made alone
            assert n_classes == 3 and name == "a weight of 0"
            continue
        scores = alone.decision_function(data[test])
        np.testing.assert_allclose(model.scores, scores, atol=0.05 * np.abs(scores).max())
        assert np.mean(model.labels == alone.predict(data[test])) > 0.9


@pytest.mark.parametrize("params", [*CLASSIFIERS.values()][:6], ids=[*CLASSIFIERS][:6])
@pytest.mark.parametrize("eps", [0.1, 1e-4])
def test_shared_fits_are_proven(params, eps):
    """The objective of the model, from its features, is near the bound of a more accurate fit."""
    classifier = MarginClassifier(eps=eps, **params)
    folds = GramFolds(classifier, validate_samples(classifier, X, y, "fit"))
    rng = np.random.default_rng(0)
    train, labels = rng.permutation(40)[:30], rng.permutation(y)
    _, _, [problem] = folds._problems(labels[train])
    scores, intercept = folds._solution(train, problem)
    alone = clone(classifier).set_params(eps=1e-6).fit(X[train], labels[train])
    w, penalty = np.linalg.lstsq(X, scores)[0], alone.penalize_intercept and alone.fit_intercept
    slacks = np.maximum(1 - problem.signs * (X[train] @ w + intercept), 0)
    losses = slacks if alone.loss == "hinge" else slacks**2
    square = w @ w + (intercept / alone.intercept_scaling) ** 2 * penalty
    gap = (square / 2 + alone.C * losses.sum()) / alone.certificates_[0].dual - 1
    assert -1e-9 <= gap <= problem.loss.required_gap(eps) + 1e-5


@pytest.mark.parametrize("cv", [4, StratifiedKFold(3), [(np.arange(30), np.arange(30, 40))]])
def test_scores_are_those_of_cross_validation(cv, monkeypatch):
    classifier = MarginClassifier(eps=1e-6)
    shared = permutation_test(classifier, X, y, cv=cv, n_permutations=20, random_state=3)
    assert shared.not_shared is None and len(set(shared.permuted_scores)) > 3
    monkeypatch.setattr(permutation, "reason_against", lambda *_: "not here")
    alone = permutation_test(classifier, X, y, cv=cv, n_permutations=20, random_state=3)
    assert alone.not_shared == "not here" and alone.score == shared.score
    np.testing.assert_allclose(alone.permuted_scores, shared.permuted_scores)
    of_number = StratifiedKFold(4, shuffle=True, random_state=3)
    expected = cross_val_score(classifier, X, y, cv=of_number if cv == 4 else cv)
    assert shared.score == pytest.approx(expected.mean())


class Sums(ClassifierMixin, BaseEstimator):
    """A classifier that needs no time; the score is a sum without ties."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X))


def sum_of_class(estimator, X, y):
    return float(X[y == 1].sum())


def test_the_p_value_is_uniform_over_all_labellings():
    X = 2.0 ** np.arange(8)[:, None]
    cv = [(np.arange(8), np.arange(8))]
    options = {"cv": cv, "n_permutations": 9, "scoring": sum_of_class}
    p = []
    for seed, ones in enumerate(itertools.combinations(range(8), 4)):
        labels = np.isin(np.arange(8), ones).astype(int)
        test = permutation_test(Sums(), X, labels, random_state=seed, **options)
        p.append(test.p_value)
    assert test.n_labellings == 70
    for k in range(1, 10):
        share, deviation = np.mean(np.array(p) <= k / 10 + 1e-9), math.sqrt(k * (10 - k) / 100 / len(p))
        assert k / 10 - 1 / 70 - 3 * deviation <= share <= k / 10 + 3 * deviation


def test_a_classifier_of_noise_is_seldom_significant_and_one_of_signal_is():
    p = [
        permutation_test(
            MarginClassifier(), X, np.random.default_rng(seed).permutation(y), cv=3, n_permutations=9
        ).p_value
        for seed in range(60)
    ]
    assert np.mean(np.array(p) <= 0.2) <= 0.2 + 3 * math.sqrt(0.16 / 60)
    test = permutation_test(MarginClassifier(), X + y[:, None], y, n_permutations=99, random_state=0)
    assert test.p_value == 0.01


def test_groups_keep_their_labels():
    groups, labels, seen = np.repeat(range(5), 8), np.arange(40) % 8 > np.repeat(range(2, 7), 8), set()

    def record(estimator, X, y):
        group = int(X[0, 0])
        assert np.all(X[:, 0] == group) and y.sum() == labels[groups == group].sum()
        seen.add((group, tuple(y)))
        return 0.5

    data = groups[:, None] + np.zeros((40, 2))
    options = {"cv": LeaveOneGroupOut(), "n_permutations": 10, "scoring": record, "random_state": 0}
    test = permutation_test(Sums(), data, labels, groups, **options)
    assert len(seen) > 20 and test.p_value == 1.0  # ties count
    n_of_group = [math.comb(8, int(labels[groups == g].sum())) for g in range(5)]
    assert test.n_labellings == math.prod(n_of_group)
    shared = permutation_test(MarginClassifier(), X, labels, groups, n_permutations=5, random_state=0)
    assert shared.not_shared is None


@pytest.mark.parametrize("estimator", [MarginClassifier(), LinearSVC()])
def test_the_result_depends_neither_on_jobs_nor_on_interruptions(
    estimator, tmp_path, calls, monkeypatch
):
    options = {"n_permutations": 12, "cv": 3, "random_state": 0}
    whole = permutation_test(estimator, X, y, **options)
    n_tasks, score = len(calls), permutation._PermutedData._score
    calls.clear()

    def fail(self, *fold):
        if len(calls) == 6:
            raise RuntimeError("power cut")
        return score(self, *fold)

    with monkeypatch.context() as patch:
        patch.setattr(permutation._PermutedData, "_score", fail)
        with pytest.raises(FitFailed, match=r"with {'permutation': \d+} failed.*power cut"):
            permutation_test(estimator, X, y, cache=tmp_path, **options)
    resumed = permutation_test(estimator, X, y, cache=tmp_path, n_jobs=2, progress=True, **options)
    assert len(calls) == n_tasks + 1  # the one that failed twice
    for other in (resumed, permutation_test(estimator, X, y, cache=tmp_path, **options)):
        assert other.score == whole.score
        np.testing.assert_array_equal(other.permuted_scores, whole.permuted_scores)
    assert len(calls) == n_tasks + 1
    others = permutation_test(estimator, X, y, cache=tmp_path, **options | {"random_state": 1})
    assert not np.array_equal(others.permuted_scores, whole.permuted_scores)


def test_other_processes_get_the_same_labels():
    options = None, None, None, None, None, None, None, 0, False
    engine = permutation._PermutationEngine(
        "permutation_test", MarginClassifier(), {}, X, y, {"cv": 3}, ("accuracy", *options[1:])
    )
    shared = permutation._PermutedData(engine, None)
    task = permutation.Task(0, [{"permutation": 7}], "permuted")
    outcome = pickle.loads(pickle.dumps(shared)).outcome_of(task, [None])
    assert outcome.scores == shared.outcome_of(task, [None]).scores


@pytest.mark.parametrize(
    ("estimator", "data", "reason"),
    [
        (LinearSVC(), X, "is not a MarginClassifier"),
        (make_pipeline(StandardScaler(), MarginClassifier()), X, "is not a MarginClassifier"),
        (MarginClassifier(kernel="rbf"), X, "kernel='rbf' is not linear"),
        (MarginClassifier(solver="newton"), X, "solver='newton' is another one"),
        (MarginClassifier(max_time=9), X, "max_time=9 limits each fit"),
        (MarginClassifier(), X[:, :20], "more samples than features"),
        (MarginClassifier(), sparse.random_array((40, 200), density=0.1, random_state=0), "X is sparse"),
        (MarginClassifier(), X * 1e8, "single precision"),
    ],
)
def test_other_fits_are_made_alone(estimator, data, reason):
    test = permutation_test(estimator, data, y, cv=2, n_permutations=2, random_state=0)
    assert reason in test.not_shared and len(test.permuted_scores) == 2


def test_fits_that_end_unproven_are_counted():
    estimator = margins.MarginClassifier(max_iter=1, eps=1e-9, solver="conjugate", kernel="rbf")
    with pytest.warns(ConvergenceWarning, match="4 of 4 permutations of permutation_test"):
        permutation_test(estimator, X, y, cv=2, n_permutations=3, random_state=0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_permutations": 0}, ValueError, "n_permutations of permutation_test .* >= 1. Got 0"),
        ({"n_permutations": 10.0}, ValueError, "n_permutations of permutation_test .* Got 10.0"),
        ({"scoring": ["accuracy", "f1"]}, TypeError, "scoring of permutation_test must be a name or"),
        ({"cv": 1}, ValueError, "cv of permutation_test must be at least 2"),
        ({"n_jobs": 0}, ValueError, "n_jobs of permutation_test"),
        (
            {"estimator": MarginClassifier},
            TypeError,
            "estimator of permutation_test must be",
        ),
        ({"estimator": MarginClassifier(C=-1)}, ValueError, "^C of MarginClassifier"),
        ({"estimator": MarginClassifier(class_weight={7: 1})}, ValueError, "^class_weight of Margin"),
        ({"X": X * np.nan}, ValueError, "NaN"),
        ({"X": X * 1e160}, ValueError, "^Row 0 of X is too long"),
        ({"groups": np.repeat(range(10), 4)}, ValueError, "must contain a group with different labels"),
        ({"groups": np.arange(40) // 4, "cv": HALVES}, ValueError, "samples of one group"),
        ({"groups": [1, 2]}, ValueError, "groups of permutation_test must have one value for each"),
        ({"scoring": lambda *_: math.nan, "estimator": Sums()}, ValueError, "Got nan for permutation 0"),
    ],
)
def test_bad_arguments(options, error, message):
    arguments = {"estimator": MarginClassifier(), "X": X, "y": y, "n_permutations": 3} | options
    with pytest.raises(error, match=message):
        permutation_test(**arguments)


def test_sums_in_another_order_are_ties():
    test = PermutationTest(
        0.1 + 0.2 + 0.3, np.array([0.3 + 0.2 + 0.1, 0.5]), "accuracy", 9.0, None, 0, 1.0
    )
    assert test.score > test.permuted_scores[0] and test.p_value == 2 / 3
    assert "p = 0.667; 2 permutations" in repr(test)
