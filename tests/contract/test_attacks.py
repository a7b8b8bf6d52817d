"""What a hostile reader found: memory that is shared or too short, and nonsense that was silent."""

import functools
import multiprocessing
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import clouds

import margins
from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.data.binary_data import augmented_sqnorms, make_binary_data, rows_of
from margins.kernels.selection import kernel_of
from margins.rules import Additive, FixedThreshold, NoShrink, Rules

noisy = functools.partial(clouds, d=3, distance=0)


def test_two_threads_never_share_a_cache_of_kernel_rows(monkeypatch):
    # In a daemonic process joblib says 1 thread, and takes 2 where memory must be shared.
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    both, seen = threading.Barrier(2, timeout=30), []

    class Watched(margins.get("pdm")):
        def phases(self, run):
            seen.append((threading.get_ident(), run.data.rows))
            if len(seen) <= 2:
                both.wait()
            yield from super().phases(run)

    X, y = noisy(n_classes=4)
    Watched(kernel="rbf", n_jobs=2, eps=0.5, random_state=0).fit(X, y)
    threads_of = {}
    for thread, rows in seen:
        threads_of.setdefault(id(rows), set()).add(thread)
    assert len(seen) == 4
    assert len(threads_of) == 2  # as many as threads, not as classes
    assert all(len(threads) == 1 for threads in threads_of.values())


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_rejected_call_leaves_the_estimator_unchanged(learn):
    X, y = noisy()
    clf, undisturbed = (
        margins.get("perceptron")(random_state=0).partial_fit(X, y, classes=[0, 1]) for _ in range(2)
    )
    with pytest.raises(
        ValueError, match=rf"sample_weight of perceptron \(Perceptron\.{learn}\) must be in"
    ):
        getattr(clf, learn)(
            X, np.where(y, "b", "a") if learn == "fit" else y, sample_weight=-np.ones(60)
        )
    with pytest.raises(ValueError, match="NaN"):
        getattr(clf, learn)(X * np.nan, y)
    assert_array_equal(clf.predict(X), undisturbed.predict(X))
    assert_array_equal(clf.partial_fit(X, y).coef_, undisturbed.partial_fit(X, y).coef_)


def test_averaging_of_a_stream_cannot_change():
    X, y = noisy()
    clf = margins.get("perceptron")().partial_fit(X, y, classes=[0, 1]).set_params(averaging="averaged")
    with pytest.raises(ValueError, match="must stay .'last', 'votes'. until the end of the stream"):
        clf.partial_fit(X, y)


def test_callbacks_change_nothing_and_every_task_that_begins_ends():
    pytest.importorskip("sklearn.callback")
    X, y = noisy(n_classes=3)
    begun, ended = [], []

    class Counter:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, context, estimator, **_):
            begun.append(context)

        def on_fit_task_end(self, context, estimator, **_):
            ended.append(context)

    clf = margins.get("pdm")(max_iter=3, eps=0.5, random_state=0)
    clf.set_callbacks(Counter()).fit(X, y)
    assert len(begun) == len(ended) > 4 + clf.n_iter_

    class Onlooker(Counter):
        def on_fit_task_end(self, context, estimator, *, fitted_estimator): ...

    two = y == 0
    plain = margins.get("mpu")(eps=0.001, random_state=0).fit(X, two)
    seen = margins.get("mpu")(eps=0.001, random_state=0).set_callbacks(Onlooker()).fit(X, two)
    assert seen.certificates_ == plain.certificates_


@pytest.mark.parametrize(("n_features", "n_samples"), [(2, 0), (4, 0), (3, 5), (3, 61)])
def test_weight_vector_of_other_samples_is_rejected(n_features, n_samples):
    X, y = noisy()
    rows = rows_of(X)
    sqnorms = augmented_sqnorms(rows.sqnorms(), 0.0, True)
    data = make_binary_data(rows, sqnorms, y == 1, 0.0, 0.0, np.inf)
    rules = Rules(FixedThreshold(0), Additive(), NoShrink())
    with pytest.raises(ValueError, match="weight vector must be one of 3 features"):
        ActiveSets((), len(X)).full_epoch(
            data, WeightVector(n_features, n_samples), rules, np.arange(len(X), dtype=np.int32)
        )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_callbacks_get_all_samples_including_those_of_weight_zero(kernel):
    callback = pytest.importorskip("sklearn.callback")
    X, y = noisy()
    X = X @ X.T if kernel == "precomputed" else X
    weight = np.r_[np.zeros(20), np.ones(40)]
    clf = margins.get("averaged-perceptron")(kernel=kernel, max_iter=2, random_state=0)
    clf.set_callbacks(callback.ScoringMonitor(scoring="accuracy")).fit(X, y, sample_weight=weight)
    assert clf.n_iter_ == 2


def test_validation_fraction_must_leave_samples_to_train_on():
    with pytest.raises(
        ValueError, match=r"validation_fraction of perceptron \(Perceptron\) must leave samples"
    ):
        margins.get("perceptron")(averaging="tail", validation_fraction=0.9).fit([[0.0], [1.0]], [0, 1])


def test_votes_of_a_fitted_model_do_not_depend_on_parameters_set_later():
    X, y = noisy()
    clf = margins.get("voted-perceptron")(max_iter=3, random_state=0).fit(X, y)
    votes = clf.decision_function(X)
    clf.set_params(eta=7.0, fit_intercept=False, averaging="last")
    assert_array_equal(clf.decision_function(X), votes)


@pytest.mark.parametrize("max_iter", [10**18, 10**400])
def test_votes_of_any_number_of_epochs_can_be_counted(max_iter):
    X, _ = noisy()
    clf = margins.get("voted-perceptron")(max_iter=max_iter, random_state=0).fit(X, X[:, 0] > 0)
    assert 2**52 < clf.votes_[0].sum() < 2**54


@pytest.mark.parametrize("container", [np.asarray, pytest.importorskip("scipy.sparse").csr_array])
def test_scale_of_float32_is_computed_in_double(container):
    X = (1000 + np.random.default_rng(0).normal(scale=0.1, size=(100, 3))).astype(np.float32)
    clf = margins.get("pdm")(kernel="rbf")
    gamma = kernel_of(clf, container(X)).gamma
    assert gamma == pytest.approx(1 / (3 * X.astype(np.float64).var()), rel=1e-6)


def test_function_that_failed_is_not_called_again():
    calls = []

    def kernel(A, B):
        if len(A) < len(B):
            calls.append(len(A))
            raise KeyboardInterrupt
        return A @ B.T

    X, y = noisy()
    with pytest.raises(KeyboardInterrupt):
        margins.get("pdm")(kernel=kernel, random_state=0).fit(X, y)
    assert len(calls) == 1
