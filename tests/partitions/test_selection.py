"""Selection of C and paths over samples in partitions: the fits are those in memory, in few passes."""

import gc
import warnings
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from partitioned_problems import chunks_of, problem, sparse_problem
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score

import margins
from margins.data.chunks import Chunks
from margins.data.permutations import seeds_of
from margins.partitions import fit
from margins.partitions.samples import FoldsOfRows

CS = [0.01, 1.0, 100.0]


class Counted(Chunks):
    """Chunks that count how often they are read."""

    def __init__(self, parts):
        super().__init__(parts)
        self.n_read = 0

    def __getitem__(self, index):
        self.n_read += 1
        return super().__getitem__(index)


def split(X, y, n_chunks=4, weight=None):
    return Counted(chunks_of(X, y, n_chunks, weight).parts)


def folds_in_memory(y, n_chunks, folds):
    """The folds of rows, and (train, test) as MarginClassifierCV takes them."""
    parts = np.array_split(np.arange(len(y)), n_chunks)
    of_rows = np.empty(len(y), int)
    for index, part in enumerate(parts):
        of_rows[part] = folds.of(np.unique(y[part], return_inverse=True)[1], index)
    rows = np.arange(len(y))
    return [(rows[of_rows != fold], rows[of_rows == fold]) for fold in range(folds.n_folds)]


def seed_of(random_state):
    return seeds_of(random_state, 1)[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_selection_equals_the_selection_in_memory(loss, n_classes):
    X, y = problem(m=900, n_classes=n_classes)
    params = {"Cs": CS, "loss": loss, "eps": 1e-5, "random_state": 0}
    chunks = split(X, y)
    selected = margins.MarginClassifierCV(cv=3, **params).fit(chunks)
    folds = folds_in_memory(y, 4, FoldsOfRows(3, seed_of(0)))
    in_memory = margins.MarginClassifierCV(cv=folds, **params).fit(X, y)
    assert_allclose(selected.scores_, in_memory.scores_, atol=0.011)  # single samples near the margin
    assert_array_equal(selected.classes_, in_memory.classes_)
    for one, other in zip(selected.fold_fits_, in_memory.fold_fits_, strict=True):
        for fits, others in zip(one, other, strict=True):
            for a, b in zip(fits, others, strict=True):
                assert a.converged and a.certificate.gap <= 2.1e-5
                assert_allclose(a.certificate.primal, b.certificate.primal, rtol=5e-5)
    assert CS[int(np.argmax(selected.scores_.mean(axis=0)))] == selected.C_
    alone = margins.MarginClassifier(C=selected.C_, loss=loss, eps=1e-5, random_state=0).fit(X, y)
    assert_allclose(selected.coef_, alone.coef_, atol=1e-2 * np.abs(alone.coef_).max())
    assert_array_equal(selected.predict(chunks), selected.predict(X))
    assert_allclose(selected.decision_function(chunks), selected.decision_function(X), rtol=1e-12)
    assert selected.score(chunks) == pytest.approx(selected.score(X, y))


def test_all_folds_and_values_of_C_share_the_passes():
    X, y = problem(m=4000)
    chunks = split(X, y, 5)
    selected = margins.MarginClassifierCV(Cs=CS, cv=3, random_state=0).fit(chunks)
    longest = max(fits[0].n_iter for fold in selected.fold_fits_ for fits in fold)
    # The scan, the fits together, the predictions, and the fit to all samples.
    assert chunks.n_read == 5 * (1 + longest + 1 + selected.estimator_.n_iter_) < 5 * 15


def test_fewer_are_trained_together_where_memory_is_short(monkeypatch):
    X, y = problem(m=900, n_classes=3)
    whole = margins.MarginClassifierCV(Cs=CS, cv=3, random_state=0).fit(split(X, y))
    together = []
    run_together = fit.run_together

    def counted(executor, setting, runs):
        together.append(len(runs))
        return run_together(executor, setting, runs)

    monkeypatch.setattr(fit, "run_together", counted)
    monkeypatch.setattr(fit, "BYTES_OF_SMOOTH", 2**29 // 900 // 7)
    monkeypatch.setattr(fit, "HESSIANS", 0)
    parts = margins.MarginClassifierCV(Cs=CS, cv=3, random_state=0).fit(split(X, y))
    assert together == [6, 6, 6, 6, 3, 3]  # whole classes; the last one is the fit to all samples
    assert_array_equal(parts.scores_, whole.scores_)
    assert_array_equal(parts.coef_, whole.coef_)


def test_weights_and_metrics_of_labels():
    X, y = problem(m=900)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    params = {"Cs": CS, "eps": 1e-5, "class_weight": "balanced", "random_state": 0}
    selected = margins.MarginClassifierCV(cv=3, scoring="balanced_accuracy", **params)
    selected.fit(split(X, y, 4, weight))
    for fold, (train, test) in enumerate(folds_in_memory(y, 4, FoldsOfRows(3, seed_of(0)))):
        classifier = margins.MarginClassifier(C=1.0, eps=1e-5, class_weight="balanced")
        predicted = classifier.fit(X[train], y[train], weight[train]).predict(X[test])
        expected = balanced_accuracy_score(y[test], predicted)
        assert selected.scores_[fold, 1] == pytest.approx(expected, abs=0.01)


def test_sparse_samples_of_many_features():
    X, y = sparse_problem()
    selected = margins.MarginClassifierCV(Cs=CS, cv=3, random_state=0).fit(split(X, y, 3))
    folds = folds_in_memory(y, 3, FoldsOfRows(3, seed_of(0)))
    in_memory = margins.MarginClassifierCV(Cs=CS, cv=folds, random_state=0).fit(X, y)
    assert_allclose(selected.scores_, in_memory.scores_, atol=0.03)
    assert sparse.issparse(X) and selected.estimator_.converged_


def test_dask_collections():
    da = pytest.importorskip("dask.array")
    X, y = problem(m=600)
    collection = da.from_array(X, chunks=(150, -1))
    selected = margins.MarginClassifierCV(Cs=CS, cv=3, random_state=0)
    selected.fit(collection, da.from_array(y, chunks=150))
    of_chunks = margins.MarginClassifierCV(Cs=CS, cv=3, random_state=0).fit(split(X, y))
    assert_array_equal(selected.scores_, of_chunks.scores_)
    assert_array_equal(selected.predict(collection).compute(), of_chunks.predict(X))


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_path_equals_the_path_in_memory(loss):
    X, y = problem(m=900, n_classes=3)
    chunks = split(X, y)
    path = margins.svm_path(chunks, Cs=CS[::-1], loss=loss, eps=1e-5, random_state=0)
    in_memory = margins.svm_path(X, y, CS[::-1], loss=loss, eps=1e-5)
    assert path.converged.all() and path.coefs.shape == (3, 3, 8)
    assert_allclose(path.coefs, in_memory.coefs, atol=2e-2 * np.abs(in_memory.coefs).max())
    assert [each.C for each in path.classifiers] == CS[::-1]
    assert chunks.n_read == 4 * (1 + max(each.n_iter_ for each in path.classifiers))


@pytest.mark.parametrize("name", ["auto", "auto-cv", "pdm", "perceptron"])
def test_no_chunk_is_held_after_it_was_read(name):
    X, y = problem(m=400)
    alive, most = [], 0

    class Rows(np.ndarray):
        """Rows that can be referred to weakly."""

    def reader(rows):
        def read():
            nonlocal most
            most = max(most, len(alive))
            chunk = Rows((50, X.shape[1]))  # an owner of its memory, which no view is
            chunk[:] = X[rows]
            alive.append(weakref.ref(chunk, alive.remove))
            return chunk, y[rows]

        return read

    chunks = Chunks([reader(slice(begin, begin + 50)) for begin in range(0, 400, 50)])
    classifier = (
        margins.MarginClassifierCV(Cs=CS, cv=3) if name == "auto-cv" else margins.get(name)(max_iter=20)
    )
    gc.collect()
    gc.disable()  # what is part of a cycle stays
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(chunks).predict(chunks)
    finally:
        gc.enable()
    assert most <= 1


def test_folds_have_as_many_rows_of_each_class():
    codes = np.random.default_rng(0).integers(0, 3, 200)
    folds = FoldsOfRows(4, 7).of(codes, 3)
    assert_array_equal(folds, FoldsOfRows(4, 7).of(codes, 3))
    assert not np.array_equal(folds, FoldsOfRows(4, 7).of(codes, 2))
    for code in range(3):
        assert np.ptp(np.bincount(folds[codes == code], minlength=4)) <= 1


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"cv": [([0], [1])]}, "cv of .* must be None or an integer >= 2 if samples are in partitions"),
        ({"scoring": "roc_auc"}, "scoring of .* a metric of predicted labels.*Got 'roc_auc'"),
        ({"scoring": lambda estimator, X, y: 0.0}, "scoring of .* a metric of predicted labels"),
        ({"calibration": "sigmoid"}, "calibration of .* must be None if samples are in partitions"),
        ({"kernel": "rbf"}, "kernel of auto-cv|kernel of .*MarginClassifierCV.* must be 'linear'"),
        ({"multi_class": "ovo"}, "multi_class of .* must be 'ovr'"),
    ],
)
def test_bad_parameters_are_refused_before_any_chunk_is_read(params, error):
    chunks = split(*problem(m=60))
    with pytest.raises(ValueError, match=error):
        margins.MarginClassifierCV(**params).fit(chunks)
    assert chunks.n_read == 0


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"scoring": "f1"}, "scoring of .* must be a metric for 2 classes with these labels: pos_label"),
        ({"cv": 61}, "cv of .* must be at most the number of samples, 60. Got 61"),
        ({"Cs": [1e99, 1.0]}, "C of .* times the weight of a sample"),
    ],
)
def test_bad_samples_are_refused_after_the_first_pass(params, error):
    X, y = problem(m=60)
    chunks = split(X, y, weight=np.full(60, 1e3))
    with pytest.raises(ValueError, match=error):
        margins.MarginClassifierCV(**params).fit(chunks)
    assert chunks.n_read == len(chunks)


def test_a_fold_that_leaves_one_class_to_train_on_is_refused():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    chunks = split(X, y, 3, np.where((y == 1) & (np.arange(60) != 3), 0.0, 1.0))
    message = "At least 2 classes of .*, without the samples of fold [012] of cv, .* Got 1: 0"
    with pytest.raises(ValueError, match=message):
        margins.MarginClassifierCV(Cs=[1.0], cv=3, penalize_intercept=False).fit(chunks)
    assert chunks.n_read == 3


@pytest.mark.parametrize("penalized", [True, False])
def test_a_fold_without_a_class_trains_the_others(penalized):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    X[:, 0] += 5 * y
    rare = np.where(np.arange(60) == 0, 7, y)
    params = {"cv": 3, "penalize_intercept": penalized, "random_state": 0}
    classifier = margins.MarginClassifierCV(Cs=[1.0], **params)
    classifier.fit(split(X, rare, 3))
    assert classifier.scores_.min() > 0.85 and classifier.classes_.tolist() == [0, 1, 7]


def test_a_fold_without_samples_is_an_error():
    X, y = problem(m=12)
    with pytest.raises(ValueError, match="cv of .* must be smaller, or chunks larger: "):
        margins.MarginClassifierCV(Cs=[1.0], cv=11, random_state=0).fit(split(X, y, 1))


def test_groups_and_labels_in_addition_to_chunks_are_refused():
    X, y = problem(m=60)
    with pytest.raises(ValueError, match="groups of .* must be None"):
        margins.MarginClassifierCV().fit(split(X, y), groups=y)
    with pytest.raises(ValueError, match="y of .* must be None if X is Chunks"):
        margins.MarginClassifierCV().fit(split(X, y), y)
