"""Streams: one result for any division into chunks, and training continues from a fitted model."""

import functools
import pickle
import threading
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.estimators.custom import OwnLoopClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.online import OnlineMixin

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
ONLINE = [name for name in ALGORITHMS if hasattr(ALGORITHMS[name](), "partial_fit")]
# With the parameters that a stream or a hard margin needs.
WITH_PARAMETERS = {
    "ballseptron": {"radius": 0.01},
    "margitron": {"b": 1.0},
    "pegasos": {"lam": 0.01},
    "pfm": {"C": np.inf, "gamma": 0.01},
}
STREAMS = [*ONLINE, *(name for name in WITH_PARAMETERS if name not in ONLINE)]
AVERAGING = [name for name in ONLINE if issubclass(ALGORITHMS[name], AveragingClassifier)]
VOTING = "voted-perceptron"
# A fit adds slack terms, or the offset of the lambda-trick, to products of samples that it has added.
DUAL_IN_SCORES = ("alma", "lambda-trick", "pdm")
DECAYING = ("norma", "pegasos")  # every access changes the weight vector

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_stream = pytest.mark.parametrize("name", STREAMS)


def make(name, **params):
    return ALGORITHMS[name](**{"random_state": 0, **WITH_PARAMETERS.get(name, {}), **params})


@functools.cache
def scaled():
    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def clouds(n_classes=2, n_samples=90, n_features=5, distance=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = distance * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


def in_chunks(classifier, X, y, size):
    for begin in range(0, len(y), size):
        classifier.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=np.unique(y))
    return classifier


def model(classifier):
    """The arrays by which a classifier predicts."""
    if hasattr(classifier, "votes_"):
        vectors = classifier.support_vectors_
        return [
            vectors.toarray() if sparse.issparse(vectors) else vectors,
            classifier.support_,
            *classifier.mistakes_,
            *classifier.votes_,
        ]
    return [classifier.coef_, classifier.intercept_]


def assert_same_model(one, other):
    for left, right in zip(model(one), model(other), strict=True):
        assert_array_equal(left, right)


# --------------------------------------------------------------------------------------------- chunks


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@each_stream
def test_at_the_defaults_chunks_of_any_size_give_one_model_bit_for_bit(name, layout):
    X, y = scaled()
    X = layout(X)
    whole = in_chunks(make(name), X, y, 569)
    for size in (100, 1):
        chunks = in_chunks(make(name), X, y, size)
        assert_same_model(chunks, whole)
        assert chunks.n_updates_ == whole.n_updates_
        assert chunks.upper_bounds_ == whole.upper_bounds_


@each_stream
def test_with_several_classes_chunks_of_any_size_give_one_model_bit_for_bit(name):
    X, y = clouds(3)
    whole = in_chunks(make(name), X, y, len(y))
    for size in (17, 1):
        assert_same_model(in_chunks(make(name), X, y, size), whole)


@pytest.mark.parametrize("name", ["cramma", "margin-perceptron", "norma", "pa-i", "pa-ii"])
def test_the_unit_of_a_stream_is_the_longest_sample_so_far(name):
    X, y = clouds()
    X = X[np.argsort(-np.sum(X**2, axis=1))]  # the longest first: the unit of all
    radius = float(np.sqrt(np.sum(X[0] ** 2) + 1))
    absolute = in_chunks(make(name, C=np.inf, radius=radius), X, y, 7)
    relative = in_chunks(make(name, C=np.inf), X, y, 7)
    np.testing.assert_allclose(relative.coef_, absolute.coef_, rtol=1e-9)


@pytest.mark.parametrize("name", AVERAGING)
def test_the_units_of_a_threshold_learned_from_a_stream_are_1(name):
    X, y = clouds()
    given = {"intercept_scaling": 1.0}
    if name != "paum":
        given["theta_init"] = 0.0 if name == "perceptron" else 1.0
    assert_same_model(in_chunks(make(name, **given), X, y, 7), in_chunks(make(name), X, y, 7))


def test_the_pocket_of_a_stream_has_no_ratchet():
    X, y = clouds()
    assert_same_model(in_chunks(make("pocket"), X, y, 9), in_chunks(make("longest-survivor"), X, y, 9))


@pytest.mark.parametrize(
    "name", [name for name in STREAMS if name not in ("alma", "romma", "ballseptron")]
)
def test_leading_zero_rows_of_a_stream_are_no_unit(name):
    X, y = clouds()
    X[:3] = 0
    whole = in_chunks(make(name, fit_intercept=False), X, y, 90)
    assert all(np.isfinite(part).all() for part in model(whole))
    assert_same_model(in_chunks(make(name, fit_intercept=False), X, y, 1), whole)


# ------------------------------------------------------------------------------ streams after a fit


@quiet
@each_stream
def test_partial_fit_after_fit_continues_from_the_fitted_model(name):
    X, y = scaled()
    params = {} if name == "servedio-average" else {"max_iter": 20}
    fitted = make(name, **params).fit(X, y)
    before = fitted.score(X, y)
    fitted.partial_fit(X[:1], y[:1])
    assert fitted.score(X, y) >= before - 0.15
    assert fitted.n_updates_ >= margins.get(name)(**{**fitted.get_params()}).fit(X, y).n_updates_


@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "name", [name for name in STREAMS if name not in (*DECAYING, *DUAL_IN_SCORES, VOTING)]
)
def test_a_chunk_without_updates_leaves_the_coefficients_of_the_fit(name, n_classes):
    X, y = clouds(n_classes, distance=8, n_samples=30)
    params = {} if name == "servedio-average" else {"max_iter": 3000}
    fitted = make(name, **params).fit(X, y)
    coef, intercept, before = fitted.coef_, fitted.intercept_, fitted.n_updates_
    fitted.partial_fit(X[:1], y[:1])
    fitted.partial_fit(X[1:2], y[1:2])
    if name in ("averaged-perceptron", "servedio-average"):  # a further weight, a further sample
        np.testing.assert_allclose(fitted.coef_, coef, rtol=0.1, atol=0.1 * np.abs(coef).max())
        return
    assert fitted.n_updates_ == before
    assert_array_equal(fitted.coef_, coef)
    assert_array_equal(fitted.intercept_, intercept)


@quiet
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("averaging", ["last", "longest", "voted", "averaged"])
def test_a_fit_of_one_epoch_in_order_and_a_stream_are_one_stream(averaging, n_classes, layout):
    X, y = clouds(n_classes, distance=0.5)
    X = layout(X)
    params = {"averaging": averaging, "shuffle": "never", "max_iter": 1}
    stream = in_chunks(margins.get("perceptron")(**params), X, y, 30)
    fitted = margins.get("perceptron")(**params).fit(X[:30], y[:30])
    fitted = pickle.loads(pickle.dumps(fitted))
    for begin in (30, 60):
        fitted.partial_fit(X[begin : begin + 30], y[begin : begin + 30])
    assert_same_model(fitted, stream)
    assert fitted.n_updates_ == stream.n_updates_
    assert fitted.n_accesses_ == stream.n_accesses_
    assert fitted.n_iter_ == stream.n_iter_ == 3
    assert fitted.upper_bounds_ == stream.upper_bounds_
    assert [[e.updates for e in curve] for curve in fitted.learning_curve_] == [
        [e.updates for e in curve] for curve in stream.learning_curve_
    ]


@pytest.mark.parametrize("size", [None, 5])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_a_stream_continues_with_the_cache_of_the_fit(size, layout):
    X, y = clouds(distance=0.5)
    X = layout(X)
    fitted = margins.get("budget-perceptron")(size=size, random_state=0, max_iter=3).fit(X, y)
    cache = fitted.cache_[0]
    fitted.partial_fit(X[:1], y[:1])
    kept = fitted.cache_[0][fitted.cache_[0] < len(y)]
    assert set(kept) <= set(cache) and len(kept) >= len(cache) - 2
    assert set(fitted.cache_[0]) - set(kept) <= {len(y)}  # the stream's samples follow those of the fit
    dense = X.toarray() if sparse.issparse(X) else X
    members = np.vstack([dense, dense[:1]])[fitted.cache_[0]]
    signs = np.where(np.append(y, y[0])[fitted.cache_[0]] > 0, 1.0, -1.0)
    np.testing.assert_allclose(fitted.coef_[0], signs @ members, rtol=1e-9, atol=1e-9)


@quiet
@each_stream
def test_upper_bounds_after_a_fit_are_true_of_all_samples(name):
    X, y = clouds(distance=5)
    fitted = make(name).fit(X[:45], y[:45])
    assert not hasattr(fitted, "upper_bounds_")
    fitted.partial_fit(X[45:], y[45:])
    assert fitted.certificates_ == []
    rho = {"intercept_scaling": np.sqrt(fitted.sqrho_)} if hasattr(fitted, "sqrho_") else {}
    params = {"fit_intercept": fitted.fit_intercept, "C": np.inf, **rho}
    if not hasattr(fitted, "sqrho_"):
        params["C"] = np.inf if name == "pegasos" else fitted.C
    exact = margins.MarginClassifier(**params, eps=1e-6).fit(X, y)
    # Sample 45 + k of a stream has a slack term of its own.
    assert fitted.upper_bounds_[0] >= exact.certificates_[0].margin * (1 - 1e-9)


def test_a_stream_cannot_continue_from_a_kernel_model():
    X, y = clouds()
    fitted = margins.get("perceptron")(kernel="rbf", random_state=0, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(X, y)
    sentence = (
        r"kernel of perceptron \(Perceptron.partial_fit\) must be 'linear'.* fitted with kernel='rbf'"
    )
    fitted.set_params(kernel="linear")
    scores = fitted.decision_function(X)
    with pytest.raises(ValueError, match=sentence):
        fitted.partial_fit(X, y)
    assert_array_equal(fitted.decision_function(X), scores)
    clone(fitted).partial_fit(X, y, classes=[0, 1])


@quiet
@pytest.mark.parametrize("name", ["pa", "pdm", "voted-perceptron", "second-order-perceptron"])
def test_other_classes_or_features_than_those_of_the_fit_are_rejected(name):
    X, y = clouds()
    fitted = make(name, max_iter=5).fit(X, y)
    with pytest.raises(ValueError, match="is not the same as on last call"):
        fitted.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        fitted.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="must hold classes of the stream"):
        fitted.partial_fit(X, y + 1)


@pytest.mark.parametrize("name", ["pa", "averaged-perceptron", "alma", "second-order-perceptron"])
def test_a_fitted_model_and_its_stream_do_not_keep_the_samples(name):
    X, y = clouds(n_samples=2000, n_features=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make(name, max_iter=2).fit(X, y)
    assert len(pickle.dumps(fitted)) < X.nbytes / 4
    assert len(pickle.dumps(in_chunks(fitted, X, y, 500))) < X.nbytes / 4


# ----------------------------------------------------------------------------------------- warm starts


@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("averaging", ["last", "longest", "averaged", "pocket", "voted"])
@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_warm_fits_in_order_are_one_fit_of_all_epochs(averaging, C, n_classes):
    X, y = clouds(n_classes, distance=0.3)
    params = {"averaging": averaging, "shuffle": "never", "C": C}
    whole = margins.get("perceptron")(**params, max_iter=6).fit(X, y)
    warm = margins.get("perceptron")(**params, max_iter=2, warm_start=True)
    for _ in range(3):
        warm.fit(X, y)
        warm = pickle.loads(pickle.dumps(warm))
    assert whole.n_iter_ == 6
    if averaging == "voted":
        for left, right in zip(warm.votes_, whole.votes_, strict=True):
            assert_array_equal(left, right)
        assert_array_equal(warm.decision_function(X), whole.decision_function(X))
    else:
        assert_same_model(warm, whole)
    assert warm.n_updates_ == whole.n_updates_
    assert warm.certificates_ == whole.certificates_
    assert warm.n_iter_ == 2
    if np.isfinite(C) and averaging != "voted":
        assert_array_equal(warm.dual_coef_, whole.dual_coef_)


@quiet
@each_stream
def test_a_warm_fit_of_a_converged_fit_changes_nothing(name):
    X, y = clouds(distance=8, n_samples=40)
    params = {} if name == "servedio-average" else {"max_iter": 5000}
    if name in (*DECAYING, "servedio-average"):
        pytest.skip("Every epoch changes the weight vector.")
    if name == "alma":
        params["stop"] = "clean-pass"
    warm = make(name, warm_start=True, **params).fit(X, y)
    assert warm.converged_
    updates, predictions = warm.n_updates_, warm.predict(X)
    again = warm.fit(X, y)
    assert again.converged_ and again.n_iter_ <= 2
    assert again.n_updates_ <= updates + 3
    assert_array_equal(again.predict(X), predictions)


@quiet
@each_stream
def test_certificates_of_a_warm_fit_are_true(name):
    X, y = clouds(distance=5, n_samples=40)
    params = {} if name == "servedio-average" else {"max_iter": 300}
    warm = make(name, warm_start=True, **params).fit(X, y)
    Z, z = clouds(distance=9, n_samples=40)
    try:
        warm.fit(Z, z)
    except ValueError as error:
        method = f"{name} ({type(warm).__name__}.fit)"
        sentence = f"X and y of {method} must be those of the last fit, with warm_start"
        assert sentence in str(error)
        Z, z = X, y
        warm.fit(Z, z)
    (certificate,) = warm.certificates_
    rho = np.sqrt(warm.sqrho_) if hasattr(warm, "sqrho_") else 1.0
    params = {"fit_intercept": warm.fit_intercept, "intercept_scaling": rho, "C": warm.C}
    if name == "pegasos":
        params |= {"C": 1 / (40 * warm.lam), "loss": "hinge"}
    exact = margins.MarginClassifier(**params, eps=1e-6).fit(Z, z).certificates_[0]
    assert certificate.dual <= exact.primal * (1 + 1e-9)
    assert certificate.primal >= exact.dual * (1 - 1e-9)


@quiet
def test_without_dual_variables_a_warm_fit_continues_with_other_samples():
    X, y = clouds(distance=5)
    for name in ("pa", "norma", "perceptron", "romma", "averaged-perceptron"):
        warm = make(name, warm_start=True, max_iter=3).fit(X[:45], y[:45])
        before = warm.n_updates_
        warm.fit(X[45:], y[45:])
        assert warm.n_updates_ >= before
        (certificate,) = warm.certificates_
        assert (certificate.dual, certificate.upper_bound) == (0.0, np.inf)


def test_parameters_and_samples_that_no_warm_start_supports_are_rejected():
    X, y = clouds()
    sentence = r"warm_start of pa \(PassiveAggressiveClassifier.fit\) must be False"
    with pytest.raises(ValueError, match=sentence):
        make("pa", warm_start=True, kernel="rbf").fit(X, y)
    warm = make("pa", warm_start=True).fit(X, y)
    for Z, z in ((X[:, :3], y), (X, y + 1), (X, np.arange(90) % 3)):
        with pytest.raises(ValueError, match=r"warm_start=True"):
            warm.fit(Z, z)
    with pytest.raises(ValueError, match="must be True or False"):
        make("pa", warm_start=1).fit(X, y)
    tail = make("perceptron", averaging="tail", warm_start=True)
    with pytest.raises(
        ValueError,
        match=r"averaging of perceptron \(Perceptron.fit\) must not be 'tail' with warm_start",
    ):
        tail.fit(X, y)


@pytest.mark.parametrize("name", STREAMS)
def test_a_warm_fit_that_needs_dual_variables_is_rejected_after_one_that_kept_none(name):
    X, y = clouds(distance=5, n_samples=40)
    warm = make(name, warm_start=True, C=np.inf).fit(X, y)
    predictions = warm.predict(X)
    if warm._leaves_dual:
        assert np.isfinite(warm.set_params(C=1.0).fit(X, y).dual_coef_).all()
        return
    with pytest.raises(ValueError, match="must have kept dual variables, with warm_start=True"):
        warm.set_params(C=1.0).fit(X, y)
    assert_array_equal(warm.predict(X), predictions)
    warm.set_params(C=np.inf).fit(X, y)


@quiet
def test_without_warm_start_a_fit_begins_at_zero():
    X, y = clouds(distance=0.5)
    for name in STREAMS:
        if name in ("alma", "cramma", "micra"):
            continue
        params = {} if name == "servedio-average" else {"max_iter": 3}
        again = in_chunks(make(name, **params), X, y, 30).fit(X, y)
        assert_same_model(again, make(name, **params).fit(X, y))
        assert not hasattr(again, "upper_bounds_")


# ------------------------------------------------------------------------------------------ what is said


@each_stream
def test_after_a_chunk_certificates_are_empty_and_bounds_are_those_of_all_samples(name):
    X, y = clouds(3)
    classifier = in_chunks(make(name), X, y, 30)
    assert classifier.certificates_ == []
    assert len(classifier.upper_bounds_) == 3
    if issubclass(ALGORITHMS[name], OwnLoopClassifier) and name == "alma":
        assert classifier.normalised_certificates_ == []
        assert len(classifier.normalised_upper_bounds_) == 3


def test_no_online_algorithm_is_without_a_stream_here():
    online = {name for name, algorithm in ALGORITHMS.items() if issubclass(algorithm, OnlineMixin)}
    assert online - set(STREAMS) == {"pdm-succ"}  # successive accuracies need several passes


def test_single_rows_of_a_voted_model_take_linear_time():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 50))
    y = rng.integers(2, size=8000)  # about every second row is a mistake
    classifier = make(VOTING)
    seconds = []
    for quarter in range(4):
        begin = time.process_time()
        in_chunks(classifier, X[quarter * 2000 :][:2000], y[quarter * 2000 :][:2000], 1)
        seconds.append(time.process_time() - begin)
    assert len(classifier.mistakes_[0]) > 3000
    assert seconds[3] < 2 * seconds[0]


def test_arrays_of_a_voted_model_do_not_change_under_their_owner():
    X, y = clouds(distance=0.3)
    classifier = in_chunks(make(VOTING), X[:45], y[:45], 9)
    arrays = model(classifier)
    copies = [array.copy() for array in arrays]
    in_chunks(classifier, X[45:], y[45:], 9)
    for array, before in zip(arrays, copies, strict=True):
        assert_array_equal(array, before)


# --------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "name", ["budget-perceptron", VOTING, "pa", "alma", "mpu", "auto", "second-order-perceptron"]
)
def test_a_second_thread_in_one_estimator_gets_one_clear_error(name, method):
    classifier = make(name)
    if not hasattr(classifier, method):
        pytest.skip("no partial_fit")
    X, y = clouds(n_samples=3000, n_features=20, distance=0.1)
    classifier.set_params(C=1.0)
    errors, barrier = [], threading.Barrier(4)

    def learn():
        barrier.wait()
        for _ in range(15):
            try:
                if method == "fit":
                    with warnings.catch_warnings():
                        classifier.fit(X[:300], y[:300])
                else:
                    classifier.partial_fit(X, y, classes=[0, 1])
            except RuntimeError as error:
                errors.append(str(error))
            except Warning:
                pass  # warnings are errors here, and their filters are not a thread's own

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own_name = type(classifier).__name__
    assert all(
        error == f"{own_name}.{method} must be called by one thread at a time: this estimator is in use "
        f"by another thread."
        for error in errors
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert classifier.fit(X[:300], y[:300]).predict(X).shape == (3000,)  # not in use any more


def test_an_estimator_in_use_rejects_a_second_call_and_is_free_after_an_error():
    X, y = clouds()
    entered, proceed = threading.Event(), threading.Event()

    def kernel(A, B):
        entered.set()
        assert proceed.wait(60)
        return A @ B.T

    slow = margins.get("perceptron")(kernel=kernel, random_state=0, max_iter=2, averaging="averaged")
    fitted = margins.get("averaged-perceptron")(kernel=kernel, random_state=0, max_iter=2)
    del slow
    thread = threading.Thread(target=lambda: fitted.fit(X, y))
    thread.start()
    assert entered.wait(60)
    with pytest.raises(RuntimeError, match="AveragedPerceptron.fit must be called by one thread at"):
        fitted.fit(X, y)
    proceed.set()
    thread.join()
    with pytest.raises(ValueError):
        fitted.fit(X * np.nan, y)
    fitted.fit(X, y)


def test_a_chunk_that_is_running_excludes_fit_and_partial_fit_and_no_predictions():
    entered, proceed = threading.Event(), threading.Event()

    class Slow(ALGORITHMS[VOTING]):
        """The voted perceptron, which waits."""

        def online_rules(self, sqradius):
            if hasattr(self, "n_iter_"):
                entered.set()
                assert proceed.wait(60)
            return super().online_rules(sqradius)

    X, y = clouds()
    classifier = Slow().partial_fit(X, y, classes=[0, 1])
    plain = make(VOTING).partial_fit(X, y, classes=[0, 1])
    thread = threading.Thread(target=lambda: classifier.partial_fit(X[::-1], y[::-1]))
    thread.start()
    assert entered.wait(60)
    for call in (classifier.fit, classifier.partial_fit):
        with pytest.raises(RuntimeError, match="in use by another thread"):
            call(X, y)
    assert_array_equal(classifier.decision_function(X), plain.decision_function(X))
    proceed.set()
    thread.join()
    assert_same_model(classifier, plain.partial_fit(X[::-1], y[::-1]))


@pytest.mark.parametrize("name", [VOTING, "pa", "budget-perceptron"])
def test_predictions_run_while_another_thread_adds_chunks(name):
    X, y = clouds(n_samples=2000, distance=0.1)
    classifier = make(name).partial_fit(X[:5], y[:5], classes=[0, 1])
    errors = []

    def predict():
        try:
            while thread.is_alive():
                assert np.isfinite(classifier.decision_function(X[:20])).all()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=lambda: in_chunks(classifier, X, y, 3))
    thread.start()
    predicting = threading.Thread(target=predict)
    predicting.start()
    predict()
    thread.join()
    predicting.join()
    assert errors == []


# ------------------------------------------------------------------------------------------ interrupted


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("where", ["_process_chunk", "_collect_model"])
@pytest.mark.parametrize("begin", ["stream", "fit"])
@each_stream
@quiet
def test_an_interrupted_chunk_leaves_the_stream_as_it_was(name, begin, where, layout):
    class Interrupted(ALGORITHMS[name]):
        """As the algorithm."""

        interrupts = False

        def _process_chunk(self, stream, *args):
            super()._process_chunk(stream, *args)
            if self.interrupts and where == "_process_chunk" and stream is self._streams[1]:
                raise KeyboardInterrupt

        def _collect_model(self, *args):
            super()._collect_model(*args)
            if self.interrupts and where == "_collect_model":
                raise KeyboardInterrupt

    X, y = clouds(3, distance=0.5)
    X = layout(X)
    params = {**WITH_PARAMETERS.get(name, {}), "random_state": 0}
    if name != "servedio-average":
        params["max_iter"] = 3
    one, other = Interrupted(**params), ALGORITHMS[name](**params)
    for classifier in (one, other):
        if begin == "fit":
            classifier.fit(X[:30], y[:30])
        else:
            classifier.partial_fit(X[:30], y[:30], classes=np.unique(y))
    Interrupted.interrupts = True
    for rows in (slice(60, 90), slice(30, 40)):
        with pytest.raises(KeyboardInterrupt):
            one.partial_fit(X[rows], y[rows])
    Interrupted.interrupts = False
    assert_same_model(one, other)
    assert_same_model(one.partial_fit(X[30:], y[30:]), other.partial_fit(X[30:], y[30:]))
    assert one.learning_curve_ == other.learning_curve_
    assert one.upper_bounds_ == other.upper_bounds_


def test_an_interrupted_warm_fit_leaves_the_votes_as_they_were():
    class Interrupted(ALGORITHMS[VOTING]):
        """As the algorithm."""

        def _warn(self, runs):
            if hasattr(self, "n_iter_") and self.max_iter == 3:
                raise KeyboardInterrupt

    X, y = clouds(distance=0.5)
    warm = Interrupted(warm_start=True, max_iter=2, random_state=0).fit(X, y)
    before = [part.copy() for part in model(warm)]
    with pytest.raises(KeyboardInterrupt):
        warm.set_params(max_iter=3).fit(X, y)
    for left, right in zip(model(warm), before, strict=True):
        assert_array_equal(left, right)


def test_an_interrupted_sparse_chunk_leaves_dense_votes_dense(monkeypatch):
    X, y = clouds(distance=0.5)
    classifier = make(VOTING).partial_fit(X[:45].astype(np.float32), y[:45], classes=[0, 1])
    before = classifier.support_vectors_

    def interrupt(stream):
        raise KeyboardInterrupt

    for chunk in (sparse.csr_array(X[45:]), X[45:]):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("margins.estimators.stream.Stream.upper_bound", property(interrupt))
            classifier.partial_fit(chunk, y[45:])
        assert type(classifier.support_vectors_) is np.ndarray
        assert classifier.support_vectors_.dtype == before.dtype
        assert_array_equal(classifier.support_vectors_, before)


# ------------------------------------------------------------------------------------------------ files


def types_of(value):
    """The types in a pickled state: set."""
    if hasattr(value, "__getstate__") and type(value).__module__.startswith("margins"):
        return {type(value)} | types_of(value.__getstate__())
    if isinstance(value, dict):
        return set().union(*map(types_of, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(types_of, value))
    return {type(value)}


@quiet
@pytest.mark.parametrize("warm_start", [False, True])
@each_stream
def test_a_saved_state_has_no_compiled_objects(name, warm_start):
    X, y = clouds(distance=5)
    params = {} if name == "servedio-average" else {"max_iter": 3}
    fitted = make(name, warm_start=warm_start, **params).fit(X, y)
    for classifier in (fitted, in_chunks(clone(fitted), X, y, 30)):
        found = types_of(classifier.__getstate__())
        modules = {kind.__module__ for kind in found if kind.__module__.startswith("margins")}
        assert modules <= {
            type(classifier).__module__,
            "margins.estimators.stream",
            "margins.estimators.budget",
            "margins.estimators.custom",
            "margins.estimators.votes",
            "margins.solvers.base",
            "margins.solvers.history",
            "margins.certificate",
            "margins.kernels.functions.linear",
        }


@quiet
@each_stream
def test_training_continues_from_a_memory_mapped_pickle(name, tmp_path):
    X, y = clouds(n_classes=3)
    params = {} if name == "servedio-average" else {"max_iter": 3}
    fitted = make(name, **params).fit(X[:60], y[:60])
    joblib.dump(fitted, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert_same_model(mapped.partial_fit(X[60:], y[60:]), fitted.partial_fit(X[60:], y[60:]))


# --------------------------------------------------------------------------------------- documentation


@pytest.mark.parametrize("name", [*STREAMS, "pdm-succ"])
def test_docstring_and_table_say_what_is_kept(name):
    assert "\n\n**Kept** between chunks and fits: " in ALGORITHMS[name].__doc__
    table = (Path(margins.__file__).parents[1] / "docs" / "streams.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert sum(f"`{name}`" in row.split("|")[1] for row in rows) == 1
