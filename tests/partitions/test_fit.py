"""Fits in partitions: the optimum of fits in memory, proven, for any partitions and storage."""

import math
import time
import warnings

import numpy as np
import pytest
from modified_huber import ModifiedHuber
from partitioned_problems import chunks_of, objective, problem, sparse_problem
from problems import assert_agree
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.data.chunks import Chunks
from margins.losses import SquaredHinge
from margins.partitions import executors
from margins.partitions.work import MAX_ENDED, MAX_FITS, STORE, Store
from margins.regularisers import Prior

each_loss = pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])


@each_loss
@pytest.mark.parametrize(("C", "fit_intercept"), [(0.01, True), (30.0, True), (1.0, False)])
def test_the_optimum_is_that_in_memory(loss, C, fit_intercept):
    X, y = problem()
    options = {"loss": loss, "C": C, "eps": 1e-4, "random_state": 0, "fit_intercept": fit_intercept}
    partitioned = margins.MarginClassifier(**options).fit(chunks_of(X, y, 7))
    direct = margins.MarginClassifier(**options).fit(X, y)
    assert partitioned.converged_ and partitioned.solver_ == "newton"
    assert_agree(partitioned, direct)
    assert partitioned.certificates_[0].primal == pytest.approx(objective(partitioned, X, y), rel=1e-12)
    np.testing.assert_allclose(partitioned.coef_, direct.coef_, atol=0.05 * abs(direct.coef_).max())
    assert partitioned.classes_.tolist() == ["a", "b"] and partitioned.n_features_in_ == 8
    assert 2 <= partitioned.n_iter_ <= 60 and not hasattr(partitioned, "dual_coef_")
    assert partitioned.score(X, y) == pytest.approx(direct.score(X, y), abs=0.01)


@each_loss
def test_threads_do_not_change_the_result(loss):
    X, y = problem(m=1000)
    one = margins.MarginClassifier(loss=loss, random_state=0).fit(chunks_of(X, y, 5))
    other = margins.MarginClassifier(loss=loss, random_state=0, n_jobs=3).fit(chunks_of(X, y, 5))
    assert (one.coef_ == other.coef_).all() and one.certificates_ == other.certificates_


@each_loss
@pytest.mark.parametrize(
    ("dtype", "storage"), [(np.int64, "dense"), (np.float32, "csr"), (np.float32, "mixed")]
)
def test_storage_and_types_of_chunks_may_be_any(loss, dtype, storage):
    X, y = problem(m=600)
    X = np.round(4 * X).astype(dtype)
    parts = np.array_split(np.arange(600), 4)
    chunks = []
    for number, part in enumerate(parts):
        is_sparse = storage == "csr" or (storage == "mixed" and number % 2 == 0)
        chunks.append((sparse.csr_matrix(X[part]) if is_sparse else X[part], y[part].tolist()))
    options = {"loss": loss, "eps": 1e-3, "random_state": 0}
    partitioned = margins.MarginClassifier(**options).fit(Chunks(chunks))
    assert partitioned.converged_
    assert_agree(partitioned, margins.MarginClassifier(**options).fit(X, y))


@each_loss
@pytest.mark.parametrize(("keeps_rows", "storage"), [(True, "mixed"), (False, "csr")])
def test_hessian_vector_products_of_many_features(loss, keeps_rows, storage, monkeypatch):
    monkeypatch.setattr(executors.ChunkExecutor, "n_processes", int(keeps_rows))
    X, y = sparse_problem()
    chunks = chunks_of(X, y, 4)
    if storage == "mixed":
        chunks = Chunks([(chunks[0][0].toarray(), chunks[0][1]), *list(chunks)[1:]])
    options = {"loss": loss, "eps": 1e-3, "random_state": 0}
    partitioned = margins.MarginClassifier(**options).fit(chunks)
    assert partitioned.converged_
    assert_agree(partitioned, margins.MarginClassifier(**options).fit(X, y))
    assert partitioned.certificates_[0].primal == pytest.approx(objective(partitioned, X, y), rel=1e-12)
    # Without kept rows each product takes a pass.
    assert (partitioned.n_iter_ > 50) == (not keeps_rows)


@each_loss
def test_several_classes_share_the_passes(loss):
    X, y = problem(n_classes=4)
    options = {"loss": loss, "eps": 1e-3, "random_state": 0}
    reads = []

    def reader(part):
        return lambda: (reads.append(1), (X[part], y[part]))[1]

    parts = np.array_split(np.arange(len(y)), 3)
    partitioned = margins.MarginClassifier(**options).fit(Chunks([reader(part) for part in parts]))
    direct = margins.MarginClassifier(**options).fit(X, y)
    assert partitioned.converged_ and partitioned.coef_.shape == (4, 8)
    assert_agree(partitioned, direct)
    assert len(reads) == 3 * (1 + partitioned.n_iter_)
    for k in range(4):
        value = objective(partitioned, X, y, problem=k)
        assert partitioned.certificates_[k].primal == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", ModifiedHuber])
@pytest.mark.parametrize(
    ("class_weight", "weighted"),
    [(None, True), ("balanced", False), ("balanced", True), ({"a": 3.0, "b": 0.5}, True)],
)
def test_class_and_sample_weights_are_those_in_memory(loss, class_weight, weighted):
    X, y = problem(noise=1.0)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    if weighted:
        weight[:1000] = 0.0  # the first chunk
    options = {"loss": loss, "eps": 1e-3, "random_state": 0, "class_weight": class_weight}
    partitioned = margins.MarginClassifier(**options).fit(chunks_of(X, y, 3, weight))
    direct = margins.MarginClassifier(**options).fit(X, y, weight)
    assert partitioned.converged_
    assert_agree(partitioned, direct)


def test_samples_that_are_much_longer_than_most_have_a_wider_smoothing():
    X, y = problem()
    X[::100] *= 1e3
    options = {"loss": "hinge", "eps": 1e-2, "random_state": 0, "max_iter": 300}
    partitioned = margins.MarginClassifier(**options).fit(chunks_of(X, y, 4))
    assert partitioned.converged_
    assert_agree(partitioned, margins.MarginClassifier(**options).fit(X, y))


@each_loss
@pytest.mark.parametrize("n_features", [1, 7])
def test_samples_without_any_element_have_a_proof(loss, n_features):
    X, y = np.zeros((6, n_features)), np.arange(6) % 2
    fit = margins.MarginClassifier(loss=loss, fit_intercept=False).fit(chunks_of(X, y, 3))
    assert fit.converged_ and fit.certificates_[0].dual == 6


@pytest.mark.parametrize(("C", "n_rare"), [(1e-4, 6), (0.01, 1), (0.5, 2)])
def test_a_rare_class_amid_the_other_ends_by_the_proof_that_nothing_can_be_won(C, n_rare):
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) < n_rare
    X[:n_rare] *= 0.3
    classifier = margins.MarginClassifier(loss="hinge", C=C, penalize_intercept=False)
    classifier.fit(Chunks.of_rows(X, y, n_rows=80))
    assert classifier.converged_ and classifier.certificates_[0].improvement == 1


def test_rounding_is_stated_where_C_is_large():
    X, y = problem(m=500, noise=0.01)
    X *= 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        partitioned = margins.MarginClassifier(C=1e9, random_state=0).fit(chunks_of(X, y, 4))
    expected = objective(partitioned, X.astype(np.longdouble), y)
    assert partitioned.certificates_[0].primal == pytest.approx(float(expected), rel=1e-9)


def test_the_loss_of_a_user_is_fitted():
    class Doubled(SquaredHinge):
        name = "doubled"

        def __init__(self, C):
            super().__init__(2 * C)

    X, y = problem(m=500)
    own = margins.MarginClassifier(loss=Doubled, eps=1e-3, random_state=0).fit(chunks_of(X, y, 2))
    known = margins.MarginClassifier(C=2.0, eps=1e-3, random_state=0).fit(chunks_of(X, y, 2))
    np.testing.assert_allclose(own.coef_, known.coef_)


def test_a_large_memory_map_is_read_in_chunks_and_a_small_one_is_not(tmp_path, monkeypatch):
    X, y = problem(m=2000)
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    whole = margins.MarginClassifier(random_state=0).fit(mapped, y)
    assert hasattr(whole, "dual_coef_")
    monkeypatch.setattr("margins.partitions.sources.is_large_map.__defaults__", (1000,))
    partitioned = margins.MarginClassifier(random_state=0).fit(mapped, y)
    assert not hasattr(partitioned, "dual_coef_")
    assert_agree(partitioned, whole)
    for in_memory in {"solver": "dcd"}, {"penalty": Prior(1)}:
        assert hasattr(
            margins.MarginClassifier(random_state=0, **in_memory).fit(mapped, y), "dual_coef_"
        )
    assert not hasattr(margins.MarginClassifier(penalty="l1").fit(mapped, y), "dual_coef_")


def test_a_fit_in_memory_after_one_in_partitions_is_complete():
    X, y = problem(m=300)
    classifier = margins.MarginClassifier(random_state=0).fit(chunks_of(X, y, 2))
    classifier.fit(X, y)
    assert classifier.dual_coef_.shape == (1, 300)
    classifier.fit(chunks_of(X, y, 2))
    assert not hasattr(classifier, "dual_coef_") and len(STORE) == 0


@each_loss
def test_a_lost_state_is_computed_again(loss, monkeypatch):
    X, y = problem(m=1000)
    options = {"loss": loss, "C": 10.0, "eps": 1e-4, "random_state": 0}
    expected = margins.MarginClassifier(**options).fit(chunks_of(X, y, 6))
    collect, n_rounds = executors.ChunkExecutor.collect, []

    def collect_without_some(self, setting, requests):
        n_rounds.append(1)
        for index in range(len(n_rounds) % 3, 6, 3):
            STORE._fits.get(setting.key, {}).pop(index, None)
        return collect(self, setting, requests)

    monkeypatch.setattr(executors.ChunkExecutor, "collect", collect_without_some)
    classifier = margins.MarginClassifier(**options).fit(chunks_of(X, y, 6))
    np.testing.assert_allclose(classifier.coef_, expected.coef_, rtol=1e-7)
    assert classifier.certificates_[0].gap == pytest.approx(expected.certificates_[0].gap, rel=1e-3)
    assert classifier.n_iter_ == expected.n_iter_


def test_a_lost_state_of_many_features_is_computed_again(monkeypatch):
    X, y = sparse_problem()
    options = {"loss": "hinge", "eps": 1e-4, "random_state": 0}
    expected = margins.MarginClassifier(**options).fit(chunks_of(X, y, 3))
    collect = executors.ChunkExecutor.collect

    def collect_without_one(self, setting, requests):
        STORE._fits.get(setting.key, {}).pop(1, None)
        return collect(self, setting, requests)

    monkeypatch.setattr(executors.ChunkExecutor, "collect", collect_without_one)
    classifier = margins.MarginClassifier(**options).fit(chunks_of(X, y, 3))
    # A state that is computed again has sums of another rounding, so the epochs may differ.
    assert classifier.converged_
    assert_agree(classifier, expected)
    # A model is as close to the optimum as the root of twice its gap, by strong convexity.
    (one,), (other,) = classifier.certificates_, expected.certificates_
    within = sum(math.sqrt(2 * (certificate.primal - certificate.dual)) for certificate in (one, other))
    assert np.linalg.norm(classifier.coef_ - expected.coef_) <= within


def test_a_task_that_runs_on_after_its_fit_has_ended_keeps_nothing():
    store = Store()
    store.of("fit", 0).states["state"] = 1
    store.forget("fit")
    for _ in range(MAX_ENDED):  # workers in one process share it
        store.forget("other")
    store.of("fit", 1).states["state"] = 1
    assert len(store) == 0


def test_a_process_keeps_few_fits_that_have_ended_without_notice():
    store = Store()
    for key in range(MAX_FITS + 3):
        store.of(str(key), 0).states["x"] = key
    assert len(store) == MAX_FITS
    assert store.of(str(MAX_FITS + 2), 0).states == {"x": MAX_FITS + 2}
    assert store.of("0", 0).states == {}


@each_loss
def test_max_iter_ends_a_fit_with_a_certificate(loss):
    X, y = problem(noise=1.0)
    options = {"loss": loss, "eps": 1e-9, "C": 100.0, "max_iter": 1, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="max_iter=1 full epochs came first") as caught:
        classifier = margins.MarginClassifier(**options).fit(chunks_of(X, y, 3))
    assert caught[0].filename == __file__
    assert classifier.n_iter_ == 1 and not classifier.converged_
    certificate = classifier.certificates_[0]
    assert certificate.primal == pytest.approx(objective(classifier, X, y), rel=1e-12)


def test_max_time_ends_a_fit_with_a_certificate():
    X, y = problem()

    def slow():
        time.sleep(0.1)
        return X, y

    with pytest.warns(ConvergenceWarning, match=r"max_time=0.15 seconds came first"):
        classifier = margins.MarginClassifier(eps=1e-12, max_time=0.15, random_state=0)
        classifier.fit(Chunks([slow]))
    assert classifier.certificates_[0].dual > 0 and classifier.n_iter_ < 4


def test_progress_states_passes_and_gaps(capsys):
    X, y = problem()
    classifier = margins.MarginClassifier(verbose=1, random_state=0).fit(chunks_of(X, y, 3))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "MarginClassifier: pass 1: 3000 samples with 8 features in 3 chunks"
    assert len(lines) == 1 + classifier.n_iter_
    assert lines[-1].startswith(f"MarginClassifier: pass {1 + classifier.n_iter_} (newton)")
    assert f"gap {classifier.certificates_[0].gap:.3g}" in lines[-1]
    curve = classifier.learning_curve_[0]
    assert [epoch.epoch for epoch in curve] == list(range(1, classifier.n_iter_ + 1))
    assert classifier.n_accesses_ == 3000 * (1 + classifier.n_iter_)
    assert classifier.phases_[0][0].solver == "newton"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_between_chunks_ends_the_fit_and_leaves_the_estimator(n_jobs):
    X, y = problem()
    classifier = margins.MarginClassifier(random_state=0, n_jobs=n_jobs).fit(chunks_of(X, y, 3))
    before, reads = classifier.coef_.copy(), []

    def reader():
        reads.append(1)
        if len(reads) == 7:
            raise KeyboardInterrupt
        return X, y

    with pytest.raises(KeyboardInterrupt):
        classifier.fit(Chunks([reader] * 5))
    assert (classifier.coef_ == before).all() and len(STORE) == 0
    classifier.fit(chunks_of(X, y, 3))
    assert (classifier.coef_ == before).all()


def test_after_an_error_no_further_chunk_is_read():
    X, y = problem(m=50)
    reads = []

    def failing():
        raise OSError("the disk is gone")

    def slow():
        reads.append(1)
        time.sleep(0.02)
        return X, y

    with pytest.raises(OSError, match="the disk is gone"):
        margins.MarginClassifier(n_jobs=2).fit(Chunks([failing] + [slow] * 40))
    assert len(reads) < 20


def test_an_empty_chunk_is_left_out():
    X, y = problem(m=500)
    chunks = Chunks([(X[:0], y[:0]), (X[:200], y[:200]), (X[200:200], y[:0]), (X[200:], y[200:])])
    classifier = margins.MarginClassifier(eps=1e-3, random_state=0).fit(chunks)
    assert classifier.converged_
    assert_agree(classifier, margins.MarginClassifier(eps=1e-3, random_state=0).fit(X, y))


def test_score_of_chunks_equals_the_score_of_their_samples():
    X, y = problem(m=500)
    weight = np.arange(500.0)
    classifier = margins.MarginClassifier(random_state=0).fit(X, y)
    assert classifier.score(chunks_of(X, y, 3)) == pytest.approx(classifier.score(X, y))
    expected = classifier.score(X, y, weight)
    assert classifier.score(chunks_of(X, y, 3, weight)) == pytest.approx(expected)


def test_predictions_of_an_empty_part_are_empty():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(30, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.loc[:9, "a"] = -5.0
    classifier = margins.MarginClassifier().fit(frame, X[:, 1] > 0)
    parts = dd.from_pandas(frame, npartitions=3)
    parts = parts[parts.a > -4]
    assert classifier.predict(parts).compute().shape == (20,)
    assert classifier.decision_function(parts).compute().shape == (20,)


@pytest.mark.parametrize(("seed", "m", "d"), [(225, 12, 3), (270, 8, 5)])
def test_newton_steps_do_not_cycle_if_samples_differ_by_orders_of_magnitude(seed, m, d):
    """A step that is taken because it shortens the gradient may increase the objective."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (m, d)).astype(float), rng.integers(0, 2, m)
    weight = 10 ** rng.uniform(0, 10, m)
    classifier = margins.MarginClassifier(loss="hinge", penalize_intercept=False)
    classifier.fit(Chunks.of_rows(X, y, weight, n_rows=m // 2))
    assert classifier.converged_ and classifier.certificates_[0].gap <= 0.01
