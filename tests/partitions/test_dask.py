"""Dask arrays and data frames: fits by its threads and by a cluster, lazy predictions."""

import contextlib
import os
import signal

import numpy as np
import pytest
from partitioned_problems import chunks_of, objective, problem, sparse_problem

import margins
from margins.partitions import executors
from margins.partitions.work import STORE

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

each_loss = pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])


def collections(m=2000, rows=300, **options):
    X, y = problem(m, **options)
    return X, y, da.from_array(X, chunks=(rows, 3)), da.from_array(y, chunks=450)


@each_loss
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_an_array_is_fitted_as_its_chunks_are(loss, scheduler):
    X, y, lazy_X, lazy_y = collections(rows=500)
    options = {"loss": loss, "eps": 1e-3, "random_state": 0}
    with dask.config.set(scheduler=scheduler):
        by_dask = margins.MarginClassifier(**options).fit(lazy_X, lazy_y)
    by_chunks = margins.MarginClassifier(**options).fit(chunks_of(X, y, 4))
    np.testing.assert_allclose(by_dask.coef_, by_chunks.coef_, rtol=1e-9)
    assert by_dask.converged_ and by_dask.n_iter_ == by_chunks.n_iter_
    assert by_dask.certificates_[0].primal == pytest.approx(objective(by_dask, X, y), rel=1e-12)


@pytest.mark.parametrize("kind", ["array", "list", "column", "series"])
def test_labels_and_weights_may_be_in_memory_or_not(kind):
    X, y, lazy_X, _ = collections()
    weight = np.arange(2000.0)
    lazy = da.from_array(y), da.from_array(weight)
    expected = margins.MarginClassifier(random_state=0).fit(lazy_X, *lazy)
    if kind == "series":
        frame = pytest.importorskip("dask.dataframe").from_array(da.from_array(y, chunks=300))
        labels, weights = frame, da.from_array(weight, chunks=300)
    else:
        labels = {"array": y, "list": y.tolist(), "column": da.from_array(y[:, np.newaxis])}[kind]
        weights = weight
    found = margins.MarginClassifier(random_state=0).fit(lazy_X, labels, weights)
    assert (found.coef_ == expected.coef_).all()


@each_loss
def test_a_data_frame_is_fitted_and_its_columns_are_the_features(loss):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = problem()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = dd.from_pandas(pd.DataFrame(X, columns=names).assign(label=y), npartitions=5)
    features, labels = frame[names], frame["label"]
    options = {"loss": loss, "eps": 1e-3, "random_state": 0}
    classifier = margins.MarginClassifier(**options).fit(features, labels)
    assert classifier.converged_ and classifier.feature_names_in_.tolist() == names
    np.testing.assert_allclose(
        classifier.coef_, margins.MarginClassifier(**options).fit(chunks_of(X, y, 5)).coef_, rtol=1e-6
    )
    predicted = classifier.predict(features)
    assert predicted.dtype == classifier.classes_.dtype
    assert (predicted.compute() == classifier.predict(pd.DataFrame(X, columns=names))).all()
    assert classifier.score(features, labels) == pytest.approx((predicted.compute() == y).mean())
    kept = frame[frame["label"] == frame["label"]]  # of unknown lengths
    again = margins.MarginClassifier(**options).fit(kept[names].values, kept["label"])
    np.testing.assert_allclose(again.coef_, classifier.coef_)
    with pytest.raises(ValueError, match="must be a dask collection if the lengths .* unknown"):
        margins.MarginClassifier().fit(features, y)
    with pytest.raises(ValueError, match="must have the 5 partitions of X. Got 2"):
        margins.MarginClassifier().fit(features, labels.repartition(npartitions=2))
    with pytest.raises(ValueError, match="columns of the first chunk"):
        order = [names, names[::-1]]
        swapped = [dask.delayed(pd.DataFrame(X, columns=each)) for each in order]
        whole = dd.from_delayed(swapped, meta=pd.DataFrame(X[:1], columns=names), verify_meta=False)
        margins.MarginClassifier().fit(whole, dd.concat([labels.repartition(npartitions=1)] * 2))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_are_lazy_and_the_score_is_a_number(n_classes):
    X, y, lazy_X, lazy_y = collections(n_classes=n_classes)
    classifier = margins.MarginClassifier(random_state=0).fit(X, y)
    scores, predicted = classifier.decision_function(lazy_X), classifier.predict(lazy_X)
    assert isinstance(scores, da.Array) and isinstance(predicted, da.Array)
    assert scores.shape == ((2000,) if n_classes == 2 else (2000, 3)) and scores.dtype == np.float64
    np.testing.assert_allclose(scores.compute(), classifier.decision_function(X))
    assert (predicted.compute() == classifier.predict(X)).all()
    assert classifier.score(lazy_X, lazy_y) == pytest.approx(classifier.score(X, y))
    weight = np.arange(2000.0)
    expected = classifier.score(X, y, weight)
    assert classifier.score(lazy_X, lazy_y, weight) == pytest.approx(expected)


def test_a_classifier_of_a_kernel_predicts_lazily_too():
    X, y, lazy_X, _ = collections(m=300)
    classifier = margins.MarginClassifier(kernel="rbf", random_state=0).fit(X, y)
    assert (classifier.predict(lazy_X).compute() == classifier.predict(X)).all()


def test_bad_shapes_and_parameters_are_errors():
    X, y, lazy_X, lazy_y = collections()
    for labels in (y, lazy_y):
        with pytest.raises(ValueError, match="number for each of the 2000 rows of X. Got .*1999"):
            margins.MarginClassifier().fit(lazy_X, labels[:-1])
    with pytest.raises(ValueError, match="X of .* must have 2 dimensions. Got 1"):
        margins.MarginClassifier().fit(lazy_y, lazy_y)
    with pytest.raises(ValueError, match="C of .* must be finite if X is a dask collection"):
        margins.MarginClassifier(C=np.inf).fit(lazy_X, lazy_y)
    with pytest.raises(ValueError, match="must be in memory here. Got a Array of dask|an Array of dask"):
        margins.get("alma")().fit(lazy_X, lazy_y)
    with pytest.raises(ValueError, match="kernel of pdm .* must be 'linear' if X is a dask collection"):
        margins.get("pdm")(kernel="rbf").fit(lazy_X, lazy_y)


@pytest.mark.parametrize("name", ["pdm", "mpu", "perceptron"])
def test_rule_based_algorithms_read_one_partition_at_a_time(name):
    X, y, lazy_X, lazy_y = collections(m=900)
    by_dask = margins.get(name)(C=1.0, random_state=0).fit(lazy_X, lazy_y)
    by_chunks = margins.get(name)(C=1.0, random_state=0).fit(chunks_of(X, y, 3))
    assert by_dask.converged_ and (by_dask.coef_ == by_chunks.coef_).all()
    assert by_dask.certificates_ == by_chunks.certificates_
    assert (by_dask.predict(lazy_X).compute() == by_chunks.predict(X)).all()
    assert by_dask.score(lazy_X, lazy_y) == by_chunks.score(X, y)
    scores = by_dask.decision_function(lazy_X)
    np.testing.assert_allclose(scores.compute(), by_chunks.decision_function(X), rtol=1e-12)


def test_rule_based_algorithms_take_data_frames_and_weights():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = problem(m=600, n_classes=3)
    names, weight = [f"x{j}" for j in range(X.shape[1])], np.arange(600.0) % 3
    table = pd.DataFrame(X, columns=names).assign(label=y, weight=weight)
    frame = dd.from_pandas(table, npartitions=4)
    found = margins.get("pdm")(random_state=0).fit(frame[names], frame["label"], frame["weight"])
    assert found.feature_names_in_.tolist() == names and found.classes_.tolist() == ["a", "b", "c"]
    assert found.converged_ and found.coef_.shape == (3, X.shape[1])
    assert found.dual_coef_.shape == (3, 600) and (found.dual_coef_[:, weight == 0] == 0).all()
    assert found.predict(frame[names]).compute().shape == (600,)


def _with(values, place, value):
    changed = values.astype(np.result_type(values, type(value)) if value is not None else object)
    changed[place] = value
    return da.from_array(changed, chunks=((50,) * 4, *[(n,) for n in changed.shape[1:]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (_with(X, (130, 2), np.nan), y), "^chunk 2 of .*fit.*: Input X contains NaN"),
        (lambda X, y: (_with(X, (130, 2), 1e200), y), "^chunk 2 of .*: Row 30 of X is too long"),
        (lambda X, y: (X, _with(y, 130, None)), "^y of chunk 2 of .* Got None for sample 30"),
        (lambda X, y: (X, _with(y, 130, np.nan)), "^y of chunk 2 of .* must be finite. Got nan"),
        (lambda X, y: (X, da.stack([da.from_array(y)] * 2, axis=1)), "^y of .* must have 1 dimension"),
        (lambda X, y: (X, None), "^y of .*fit.* must hold a label for each row of X. Got None"),
    ],
)
def test_a_bad_value_in_a_collection_is_named(change, message):
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = (X[:, 0] > 0).astype(int)
    X, y = change(X, y)
    X = X if isinstance(X, da.Array) else da.from_array(X, chunks=(50, 5))
    with pytest.raises(ValueError, match=message):
        margins.MarginClassifier().fit(X, y)


def test_points_of_another_shape_are_found_before_anything_is_computed():
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = (X[:, 0] > 0).astype(int)
    classifier, lazy = margins.MarginClassifier().fit(X, y), da.from_array(X, chunks=(50, 5))
    for method in (classifier.predict, classifier.decision_function):
        message = f"X of .*{method.__name__}.* must have 5 features, .* Got 4"
        with pytest.raises(ValueError, match=message):
            method(lazy[:, :4])
        with pytest.raises(ValueError, match="X of .* must have 2 dimensions. Got 1"):
            method(lazy[:, 0])
    for labels, message in ((None, "must hold a label for"), (y.astype(str), "either numbers or str")):
        with pytest.raises(ValueError, match=f"y of .*score.*{message}"):
            classifier.score(lazy, labels)


@contextlib.contextmanager
def client_of_two_workers(processes):
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with (
        # Of a worker lost twice within this time, dask would give up the one that takes its place.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(n_workers=2, processes=processes, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def cluster():
    with client_of_two_workers(processes=True) as client:
        yield client


@pytest.fixture
def cluster_within():
    """A cluster whose two workers are threads of this process, which begins at once."""
    with client_of_two_workers(processes=False) as client:
        yield client


def bytes_sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def n_kept():
    from margins.partitions.work import STORE  # of the worker

    return len(STORE)


@pytest.mark.slow
@each_loss
@pytest.mark.filterwarnings("ignore")
def test_samples_stay_where_a_cluster_has_loaded_them(loss, cluster):
    from distributed import wait

    X, y = problem(m=40_000, d=40)
    lazy_X = da.from_array(X, chunks=(2500, -1)).persist()
    lazy_y = da.from_array(y, chunks=2500).persist()
    wait([lazy_X, lazy_y])
    before = sum(cluster.run(bytes_sent).values())
    options = {"loss": loss, "eps": 1e-3, "random_state": 0}
    classifier = margins.MarginClassifier(**options).fit(lazy_X, lazy_y)
    moved = sum(cluster.run(bytes_sent).values()) - before
    # A pass moves Hessians of 13 kB, and the scan the subsample, 1/16 of X. An idle worker may take over
    # a partition, of 1/16 too; if X moved in each pass, it would be several times X.
    assert moved < 0.6 * X.nbytes
    expected = margins.MarginClassifier(**options).fit(chunks_of(X, y, 16))
    np.testing.assert_allclose(classifier.coef_, expected.coef_, rtol=1e-6)
    assert set(cluster.run(n_kept).values()) == {0}


@pytest.mark.filterwarnings("ignore")
def test_partitions_of_a_cluster_are_sent_to_the_client_one_at_a_time(cluster_within):
    X, y, lazy_X, lazy_y = collections(m=300, rows=100)
    expected = margins.get("pdm")(random_state=0).fit(chunks_of(X, y, 3))
    for lazy in ((lazy_X, lazy_y), (lazy_X.persist(), lazy_y.persist()), (lazy_X, y)):
        found = margins.get("pdm")(random_state=0).fit(*lazy)
        assert (found.coef_ == expected.coef_).all() and found.certificates_ == expected.certificates_


def sparse_in_four_parts(d):
    X, y = sparse_problem(m=400, d=d)
    parts = [dask.delayed(X[begin : begin + 100]) for begin in range(0, 400, 100)]
    return X, y, da.concatenate([da.from_delayed(part, (100, d), dtype=float) for part in parts])


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_fits_many_features_and_computes_lost_states_again(cluster_within, monkeypatch):
    X, y, lazy_X = sparse_in_four_parts(9000)
    assert 8 * X.shape[1] > executors.SCATTERED_BYTES
    collect, n_lost = executors.DaskExecutor.collect, []

    def collect_without_one(self, setting, requests):
        lost = STORE._fits.get(setting.key, {}).pop(1, None)
        n_lost.append(lost is not None)
        return collect(self, setting, requests)

    monkeypatch.setattr(executors.DaskExecutor, "collect", collect_without_one)
    classifier = margins.MarginClassifier(C=0.01, eps=1e-9, random_state=0).fit(lazy_X, y)
    expected = margins.MarginClassifier(C=0.01, eps=1e-9, random_state=0).fit(chunks_of(X, y, 4))
    assert classifier.converged_ and sum(n_lost) > 3
    # Sums are in another order if a task has gone to the other worker, so both are near the optimum.
    np.testing.assert_allclose(classifier.coef_, expected.coef_, rtol=1e-4, atol=1e-7)
    assert len(STORE) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_requests_are_sent_again_if_the_worker_is_killed_that_their_copy_was_on(cluster, monkeypatch):
    _, y, lazy_X = sparse_in_four_parts(20_000)
    scattered, killed = executors.scattered, []

    def scattered_and_lost(value, client):
        futures = scattered(value, client)  # of a tuple, one for each of its elements
        if not killed:
            addresses, *_ = client.who_has(list(futures)).values()
            killed.extend(client.run(os.getpid, workers=list(addresses)).values())
            os.kill(killed[0], signal.SIGKILL)
        return futures

    monkeypatch.setattr(executors, "scattered", scattered_and_lost)
    classifier = margins.MarginClassifier(eps=1e-3, random_state=0).fit(lazy_X, y)
    assert classifier.converged_ and killed
    cluster.wait_for_workers(2, timeout=60)


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("is_persisted", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_does_not_change_the_result(loss, is_persisted, cluster, monkeypatch):
    X, y = problem(m=20_000, d=20)
    lazy_X, lazy_y = da.from_array(X, chunks=(2000, -1)), da.from_array(y, chunks=2000)
    if is_persisted:
        lazy_X, lazy_y = lazy_X.persist(), lazy_y.persist()
    options = {"loss": loss, "C": 10.0, "eps": 1e-4, "random_state": 0}
    expected = margins.MarginClassifier(**options).fit(chunks_of(X, y, 10))
    collect, n_rounds = executors.DaskExecutor.collect, []

    def collect_and_kill(self, setting, requests):
        n_rounds.append(1)
        if len(n_rounds) == 2:
            os.kill(next(iter(cluster.run(os.getpid).values())), signal.SIGKILL)
        return collect(self, setting, requests)

    monkeypatch.setattr(executors.DaskExecutor, "collect", collect_and_kill)
    classifier = margins.MarginClassifier(**options).fit(lazy_X, lazy_y)
    assert len(n_rounds) > 2
    np.testing.assert_allclose(classifier.coef_, expected.coef_, rtol=1e-6)
    assert classifier.converged_ and classifier.n_iter_ == expected.n_iter_
    cluster.wait_for_workers(2, timeout=60)
