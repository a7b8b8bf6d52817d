"""Leave-one-out: against real refits, and at its edges."""

import warnings

import numpy as np
import pytest
from problems import scaled
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import margins
from margins.callbacks import ProgressBar
from margins.data.chunks import Chunks
from margins.decremental.scores import MIN_DENSITY
from margins.decremental.solution import solution_of
from margins.kernels import RBF

EXACT = 1e-8


def refitted(classifier, X, y, sample_weight=None, groups=None):
    """The decision values and predictions by real models without each sample."""
    groups = np.arange(len(y)) if groups is None else groups
    values, labels = [], []
    for number in range(len(y)):
        kept = groups != groups[number]
        weight = None if sample_weight is None else sample_weight[kept]
        # Warnings of a gap of 1e-8 that rounding leaves.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = classifier.set_params(eps=EXACT).fit(X[kept], y[kept], weight)
        values.append(model.decision_function(X[[number]])[0])
        labels.append(model.predict(X[[number]])[0])
    # Without a class that has vanished, decision values have another shape.
    same = all(np.shape(value) == np.shape(values[0]) for value in values)
    return np.array(values) if same else np.empty(0), np.array(labels)


def check(result, values, labels, y, at_least=1.0):
    assert result.is_proven.mean() >= at_least
    proven = result.is_proven
    np.testing.assert_array_equal(result.predictions[proven], labels[proven])
    low, high = result.error_interval
    assert low <= np.mean(labels != y) <= high
    if values.shape == result.scores.shape:
        slack = 1e-3 * (1 + np.abs(values))
        assert (result.bounds[0] <= values + slack).all()
        assert (result.bounds[1] >= values - slack).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(
    ("C", "intercept"),
    [
        (1e-4, {"penalize_intercept": False}),
        (0.1, {}),
        (10.0, {"fit_intercept": False}),
        (1e4, {"penalize_intercept": False}),
        (1e4, {}),
    ],
)
def test_linear_models_of_two_classes(loss, C, intercept):
    X, y = scaled(load_breast_cancer, 60)
    classifier = margins.MarginClassifier(C=C, loss=loss, random_state=0, **intercept)
    result = margins.leave_one_out(classifier, X, y)
    check(result, *refitted(classifier, X, y), y)
    exact = margins.leave_one_out(classifier, X, y, exact=True)
    narrow = exact.bounds[1] - exact.bounds[0] < 1e-3 * (1 + np.abs(exact.scores))
    assert narrow.mean() > (0.95 if loss == "squared_hinge" else 0.7)
    np.testing.assert_array_equal(exact.predictions, result.predictions)


@pytest.mark.parametrize(
    ("loss", "multi_class", "kernel"),
    [
        ("squared_hinge", "ovo", {}),
        ("hinge", "ovr", {}),
        ("squared_hinge", "ovr", {"kernel": "rbf", "gamma": 0.1}),
        ("hinge", "ovo", {"kernel": "rbf", "gamma": 0.1}),
        ("hinge", "ovr", {"kernel": RBF(gamma=0.3), "penalize_intercept": False}),
    ],
)
def test_several_classes(loss, multi_class, kernel):
    X, y = scaled(load_iris, 45)
    classifier = margins.MarginClassifier(
        C=2.0, loss=loss, multi_class=multi_class, random_state=0, **kernel
    )
    result = margins.leave_one_out(classifier, X, y)
    values, labels = refitted(classifier, X, y)
    check(result, values if multi_class == "ovr" else labels, labels, y)
    assert result.scores.shape == (45, 3)


def test_features_that_outnumber_samples_and_sparse_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 200)) * (rng.random((40, 200)) < 0.2)
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=40) > 0, "yes", "no")
    classifier = margins.MarginClassifier(C=0.3, random_state=0)
    result = margins.leave_one_out(classifier, X, y)
    check(result, *refitted(classifier, X, y), y)
    few, few_y = scaled(load_breast_cancer, 90)
    fewer = np.where(np.abs(few) < 2.5, 0.0, few)  # so few that products are those of sparse features
    assert 0 < np.mean(fewer != 0) < MIN_DENSITY
    few[np.abs(few) < 0.7] = 0.0
    for dense, labels in ((X, y), (few, few_y), (fewer, few_y)):
        for loss in ("squared_hinge", "hinge"):
            classifier = margins.MarginClassifier(C=0.3, loss=loss, random_state=0)
            of_dense = margins.leave_one_out(classifier, dense, labels, exact=True)
            of_sparse = margins.leave_one_out(classifier, sparse.csr_matrix(dense), labels, exact=True)
            np.testing.assert_allclose(of_sparse.scores, of_dense.scores, atol=1e-6)


def test_precomputed_kernels_and_single_precision():
    X, y = scaled(load_breast_cancer, 70)
    kernel = RBF(gamma=0.05)
    of_kernel = margins.leave_one_out(margins.MarginClassifier(kernel=kernel), X, y, exact=True)
    precomputed = margins.MarginClassifier(kernel="precomputed")
    of_matrix = margins.leave_one_out(precomputed, kernel(X, X), y, exact=True)
    np.testing.assert_allclose(of_matrix.scores, of_kernel.scores, atol=1e-7)
    single = margins.leave_one_out(margins.MarginClassifier(), X.astype(np.float32), y)
    double = margins.leave_one_out(margins.MarginClassifier(), X, y)
    np.testing.assert_array_equal(single.predictions, double.predictions)


def test_weights_and_samples_of_weight_zero():
    X, y = scaled(load_breast_cancer, 60)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 4.0], 60)
    classifier = margins.MarginClassifier(C=0.5, class_weight={0: 2.0}, random_state=0)
    result = margins.leave_one_out(classifier, X, y, weight)
    check(result, *refitted(classifier, X, y, weight), y)
    unseen = weight == 0
    np.testing.assert_allclose(result.scores[unseen], result.full_scores[unseen], atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_groups_are_left_out_together(loss):
    X, y = scaled(load_breast_cancer, 80)
    groups = np.random.default_rng(0).integers(0, 25, 80).astype(str)
    classifier = margins.MarginClassifier(C=1.0, loss=loss, random_state=0)
    result = margins.leave_one_out(classifier, X, y, groups=groups)
    check(result, *refitted(classifier, X, y, groups=groups), y)
    assert result.span_estimate is None


def test_duplicates_are_left_out_together_if_asked():
    X, y = scaled(load_breast_cancer, 40)
    X, y = np.vstack([X, X]), np.append(y, y)
    classifier = margins.MarginClassifier(C=100.0, random_state=0)
    for matrix in (X, sparse.csr_matrix(X)):
        result = margins.leave_one_out(classifier, matrix, y, groups="duplicates")
        groups = np.tile(np.arange(40), 2)
        check(result, *refitted(classifier, X, y, groups=groups), y)
    alone = margins.leave_one_out(classifier, X, y)
    check(alone, *refitted(classifier, X, y), y)
    assert alone.error < result.error


def test_duplicates_are_equal_features_however_they_are_stored():
    """Zeros may be stored, or not, and negative; the indices of a row may have any order."""
    X = np.array([[0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    data = [1.0, 0.0, 1.0, -0.0, 1.0, 1.0, 0.0, 2.0, 1.0, 1.0, 2.0]
    indices = [1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1]
    stored = sparse.csr_matrix((data, indices, [0, 1, 3, 5, 7, 9, 11]), shape=(6, 2))
    np.testing.assert_array_equal(stored.toarray(), X)
    y, classifier = [0, 1, 0, 1, 1, 0], margins.MarginClassifier(C=5.0, random_state=0)
    expected = margins.leave_one_out(classifier, X, y, groups=[0, 0, 0, 1, 2, 2], exact=True)
    for matrix in (X, stored):
        result = margins.leave_one_out(classifier, matrix, y, groups="duplicates", exact=True)
        np.testing.assert_allclose(result.scores, expected.scores, atol=1e-9)
    with pytest.raises(ValueError, match="Got 1: all samples are duplicates"):
        margins.leave_one_out(classifier, np.ones((6, 2)), y, groups="duplicates")


def test_contrary_labels_of_the_same_sample():
    X, y = scaled(load_breast_cancer, 40)
    X, y = np.vstack([X, X[:10]]), np.append(y, 1 - y[:10])
    for loss in ("squared_hinge", "hinge"):
        classifier = margins.MarginClassifier(C=10.0, loss=loss, random_state=0)
        check(margins.leave_one_out(classifier, X, y), *refitted(classifier, X, y), y)


def test_the_only_sample_of_a_class_is_predicted_as_another_one():
    X, y = scaled(load_breast_cancer, 30)
    y = np.zeros(30, dtype=int)
    y[4] = 1
    result = margins.leave_one_out(margins.MarginClassifier(), X, y)
    assert result.predictions[4] == 0 and result.is_proven[4]
    assert result.scores[4] == -np.inf
    X, y = scaled(load_iris, 40)
    y = np.where(y == 2, np.where(np.arange(40) == np.flatnonzero(y == 2)[0], 2, 1), y)
    only = int(np.flatnonzero(y == 2)[0])
    for multi_class in ("ovr", "ovo"):
        classifier = margins.MarginClassifier(multi_class=multi_class, random_state=0)
        result = margins.leave_one_out(classifier, X, y)
        assert result.predictions[only] in (0, 1) and result.is_proven[only]
        check(result, *refitted(classifier, X, y), y)


def test_a_class_of_weight_zero_is_never_predicted():
    X, y = scaled(load_iris, 60)
    weight = np.where(y == 1, 0.0, 1.0)
    for multi_class in ("ovr", "ovo"):
        classifier = margins.MarginClassifier(multi_class=multi_class, random_state=0)
        result = margins.leave_one_out(classifier, X, y, weight)
        assert set(result.predictions) == {0, 2}
        assert not result.possible[:, 1].any()


def test_groups_without_which_no_sample_of_positive_weight_is_left_are_an_error():
    groups, weight = np.arange(20) // 10, [2.0] * 10 + [0.0] * 10
    with pytest.raises(ValueError, match="2 groups with samples of positive weight. Got 1: the"):
        margins.leave_one_out(
            margins.MarginClassifier(), X_OF_ERRORS, Y_OF_ERRORS, weight, groups=groups
        )


def test_scores_of_exact_solutions_match_refits():
    X, y = scaled(load_wine, 50)
    classifier = margins.MarginClassifier(C=0.5, random_state=0)
    result = margins.leave_one_out(classifier, X, y, exact=True)
    values, _ = refitted(classifier, X, y)
    np.testing.assert_allclose(result.scores, values, atol=1e-4)
    assert result.n_refits == 0


def test_margins_influence_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y = scaled(load_breast_cancer, 100)
    y[17] = 1 - y[17]
    result = margins.leave_one_out(margins.MarginClassifier(C=0.1), X, y, exact=True)
    assert (result.influence >= -1e-9).all()
    assert int(np.argmin(result.margins)) == 17
    np.testing.assert_allclose(result.margins, np.where(y == 1, result.scores, -result.scores))
    table = result.to_frame()
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == [
        "label", "prediction", "is_proven", "margin", "full_margin", "influence"
    ]  # fmt: skip
    assert (table["prediction"] != table["label"]).mean() == result.error


def test_repr_says_what_is_proven():
    X, y = scaled(load_breast_cancer, 60)
    result = margins.leave_one_out(margins.MarginClassifier(), X, y)
    assert repr(result).startswith(f"LeaveOneOut(error {result.error:.4g}, proven; 60 samples, ")


def test_results_do_not_depend_on_the_seed_or_the_number_of_threads():
    X, y = scaled(load_digits, 200)
    results = [
        margins.leave_one_out(margins.MarginClassifier(random_state=seed, n_jobs=jobs), X, y)
        for seed, jobs in ((0, None), (1, 2))
    ]
    np.testing.assert_array_equal(results[0].predictions, results[1].predictions)
    assert results[0].error_interval == results[1].error_interval


def test_the_classifier_is_not_changed():
    X, y = scaled(load_iris, 40)
    classifier = margins.MarginClassifier(C=3.0)
    margins.leave_one_out(classifier, X, y)
    assert not hasattr(classifier, "coef_")
    assert classifier.get_params() == margins.MarginClassifier(C=3.0).get_params()


X_OF_ERRORS, Y_OF_ERRORS = scaled(load_breast_cancer, 20)


@pytest.mark.parametrize(
    ("classifier", "keywords", "error", "text"),
    [
        (margins.get("pdm")(), {}, TypeError, "classifier of leave_one_out must be a MarginClassifier"),
        (margins.MarginClassifier(C=np.inf), {}, ValueError, r"leave_one_out must be finite"),
        (margins.MarginClassifier(max_time=1.0), {}, ValueError, "max_time of .* must be None"),
        (margins.MarginClassifier(C=-1), {}, ValueError, "C of"),
        (margins.MarginClassifier(), {"groups": "same"}, ValueError, "must be an array or 'duplicates'"),
        (margins.MarginClassifier(), {"groups": [1, 2]}, ValueError, "one label for each of the"),
        (margins.MarginClassifier(), {"groups": [1] * 20}, ValueError, "at least 2 groups. Got 1: 1"),
        (margins.MarginClassifier(), {"groups": [np.nan, *range(19)]}, ValueError, "Got nan for"),
        (margins.MarginClassifier(), {"exact": "no"}, ValueError, "exact of .* must be True or False"),
        (margins.MarginClassifierCV(), {}, TypeError, "with its `C_`"),
        (margins.MarginClassifier(kernel="sigmoid"), {}, ValueError, "positive semidefinite"),
        (margins.MarginClassifier().set_callbacks(ProgressBar()), {}, ValueError, "callbacks of"),
    ],
)  # fmt: skip
def test_bad_input_is_an_error_before_any_work(classifier, keywords, error, text):
    with pytest.raises(error, match=text):
        margins.leave_one_out(classifier, X_OF_ERRORS, Y_OF_ERRORS, **keywords)


def test_chunks_are_refused():
    chunks = Chunks.of_rows(X_OF_ERRORS, Y_OF_ERRORS, n_rows=10)
    with pytest.raises(TypeError, match="X of leave_one_out must be in memory"):
        margins.leave_one_out(margins.MarginClassifier(), chunks, None)


def test_a_kernel_matrix_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("margins.decremental.scores.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="matrix of all pairs of the 20 samples"):
        margins.leave_one_out(margins.MarginClassifier(kernel="rbf"), X_OF_ERRORS, Y_OF_ERRORS)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_exact_solutions_of_pairs_start_where_training_ends(kernel, loss, monkeypatch):
    """The samples of a pair are trained in the order of their classes."""
    distances = []

    def recorded(problem, alpha, bias):
        solution = solution_of(problem, alpha, bias)
        distances.append(np.abs(solution.alpha - alpha).max() / solution.alpha.max())
        return solution

    monkeypatch.setattr("margins.decremental.scores.solution_of", recorded)
    monkeypatch.setattr("margins.decremental.left_out.solution_of", recorded)
    monkeypatch.setattr("margins.decremental.left_out.MarginBounds.step", lambda self, groups: None)
    monkeypatch.setattr("margins.decremental.left_out.MarginBounds.follow", lambda self, groups: groups)
    X, y = scaled(load_iris, 60)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 60)
    classifier = margins.MarginClassifier(kernel=kernel, loss=loss, multi_class="ovo", C=0.1)
    result = margins.leave_one_out(classifier, X, y, weight)
    assert result.n_refits > 0 and len(distances) == 3 + result.n_refits
    assert max(distances) < 0.01


def test_penalties_far_above_the_dual_variables_leave_nothing_unproven():
    """Dual variables of 1e-7 with C=1e4: the hinge loss of a rounded margin is not counted C times."""
    rng = np.random.default_rng(0)
    X, y = 1e3 * rng.normal(size=(40, 400)), np.arange(40) % 2
    for intercept in ({}, {"penalize_intercept": False}):
        classifier = margins.MarginClassifier(C=1e4, loss="hinge", **intercept)
        result = margins.leave_one_out(classifier, X, y)
        assert result.is_proven.all() and result.n_refits == 0
        assert np.abs(result.scores).max() < 10
