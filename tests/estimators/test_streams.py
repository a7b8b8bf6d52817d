"""Streams: one result for any division into chunks, after a fit and after none; their states."""

import pickle
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, STEPS, quiet
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from stream_problems import (
    AVERAGING,
    DECAYING,
    DUAL_IN_SCORES,
    KINDS,
    STREAMS,
    VOTING,
    assert_same_model,
    clouds,
    each_kind,
    in_chunks,
    make,
    model,
)

import margins
from margins.estimators.online import OnlineMixin

# ----------------------------------------------------------------------------------------------- chunks


WITH_UNITS = [
    ("pa-i", {"averaging": "averaged", "radius": 2.0}),
    ("norma", {"radius": 2.0}),
    ("cramma", {"radius": 3.0}),
    ("margitron", {"threshold": "norm", "b": 0.1, "exponent": 0.4, "radius": 3.0}),
]


@pytest.mark.parametrize(("name", "params"), [*((name, {}) for name in STREAMS), *WITH_UNITS])
def test_chunks_of_any_size_give_one_model_bit_for_bit(name, params):
    X, y = clouds(3, distance=0.5, m=30)
    weight = (
        np.random.default_rng(1).uniform(0.1, 2, len(y)) if np.inf > make(name, **params).C else None
    )
    for layout, sizes in ((np.asarray, (17, 1)), (sparse.csr_array, (17,))):
        whole = in_chunks(make(name, **params), layout(X), y, len(y), weight)
        for size in sizes:
            chunks = in_chunks(make(name, **params), layout(X), y, size, weight)
            assert_same_model(chunks, whole)
            assert chunks.n_updates_ == whole.n_updates_
            assert chunks.upper_bounds_ == whole.upper_bounds_


@pytest.mark.parametrize("name", ["cramma", "margin-perceptron", "norma", "pa-i", "pa-ii"])
def test_a_stream_counts_in_units_of_its_longest_sample(name):
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


def test_leading_zero_rows_of_a_stream_do_not_set_its_unit():
    X, y = clouds(m=12)
    X[:3] = 0
    for name in STREAMS:
        whole = in_chunks(make(name, fit_intercept=False), X, y, 12)
        assert all(np.isfinite(part).all() for part in model(whole)), name
        assert_same_model(in_chunks(make(name, fit_intercept=False), X, y, 1), whole)


# ---------------------------------------------------------------------------------- streams after a fit


@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "name", [name for name in KINDS if name not in (*DECAYING, *DUAL_IN_SCORES, VOTING)]
)
def test_a_chunk_without_updates_leaves_the_coefficients_of_the_fit(name, n_classes):
    X, y = clouds(n_classes, distance=8, m=30)
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
@pytest.mark.parametrize(
    ("layout", "n_classes"), [(np.asarray, 2), (sparse.csr_array, 3)], ids=["dense-2", "CSR-3"]
)
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
@each_kind
def test_upper_bounds_after_a_fit_are_true_of_all_samples(name):
    X, y = clouds(distance=5)
    fitted = make(name).fit(X[:45], y[:45])
    assert not hasattr(fitted, "upper_bounds_")
    fitted.partial_fit(X[45:], y[45:])
    assert fitted.certificates_ == []
    rho = (
        {"intercept_scaling": np.sqrt(fitted.sq_intercept_scaling_)}
        if hasattr(fitted, "sq_intercept_scaling_")
        else {}
    )
    params = {"fit_intercept": fitted.fit_intercept, "C": np.inf, **rho}
    if not hasattr(fitted, "sq_intercept_scaling_"):
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


@pytest.mark.parametrize("name", ["pa", "averaged-perceptron", "alma", "second-order-perceptron"])
def test_a_fitted_model_and_its_stream_do_not_keep_the_samples(name):
    X, y = clouds(m=2000, d=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make(name, max_iter=2).fit(X, y)
    assert len(pickle.dumps(fitted)) < X.nbytes / 4
    assert len(pickle.dumps(in_chunks(fitted, X, y, 500))) < X.nbytes / 4


# ----------------------------------------------------------------------------------------- what is said


def test_every_online_algorithm_is_tested():
    online = {name for name, algorithm in ALGORITHMS.items() if issubclass(algorithm, OnlineMixin)}
    assert online - set(STREAMS) == {"pdm-succ"}  # successive accuracies need several passes


@pytest.mark.slow
def test_single_rows_of_a_voted_model_take_linear_time():
    rng = np.random.default_rng(0)
    X = rng.random((1200, 15_000), dtype=np.float32) - 0.5  # long, so that copies would be dear
    y = rng.integers(2, size=1200)  # about every second row is a mistake
    classifier = make(VOTING)
    seconds = []
    for rows in np.array_split(np.arange(1200), 4):
        begin = time.process_time()
        in_chunks(classifier, X[rows], y[rows], 1)
        seconds.append(time.process_time() - begin)
    assert len(classifier.mistakes_[0]) > 450
    assert seconds[3] < 1.6 * seconds[0]


def test_arrays_of_a_voted_model_do_not_change_under_their_owner():
    X, y = clouds(distance=0.3)
    classifier = in_chunks(make(VOTING), X[:45], y[:45], 9)
    arrays = model(classifier)
    copies = [array.copy() for array in arrays]
    in_chunks(classifier, X[45:], y[45:], 9)
    for array, before in zip(arrays, copies, strict=True):
        assert_array_equal(array, before)


@quiet
@pytest.mark.parametrize("name", [*STEPS, "pegasos"])
def test_an_epoch_in_the_order_of_x_is_a_stream(name):
    X, y = clouds(distance=1.0)
    params = {"lam": 0.1} if name == "pegasos" else {"radius": 1.0} if name != "pa" else {}
    fits = [make(name, shuffle=False, max_iter=1, random_state=seed, **params) for seed in (0, 1)]
    stream = make(name, **params).partial_fit(X, y, [0, 1])
    for classifier in fits:
        classifier.fit(X, y)
        assert classifier.n_updates_ == stream.n_updates_
        found, expected = (
            np.r_[each.coef_[0], each.intercept_] / np.linalg.norm(each.coef_)
            for each in (classifier, stream)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    shuffled = make(name, max_iter=1, random_state=0, **params).fit(X, y)
    assert np.any(shuffled.coef_ != fits[0].coef_)


def test_an_interrupted_warm_fit_leaves_the_votes_as_they_were():
    class Interrupted(ALGORITHMS[VOTING]):
        """As the algorithm."""

        def set_fitted(self, fit):
            super().set_fitted(fit)
            if self.max_iter == 3:
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

    def interrupt(outcome):
        raise KeyboardInterrupt

    for chunk in (sparse.csr_array(X[45:]), X[45:]):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("margins.solvers.outcome.Outcome.upper_bound", property(interrupt))
            classifier.partial_fit(chunk, y[45:])
        assert type(classifier.support_vectors_) is np.ndarray
        assert classifier.support_vectors_.dtype == before.dtype
        assert_array_equal(classifier.support_vectors_, before)


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
@each_kind
def test_a_saved_state_has_no_compiled_objects(name):
    X, y = clouds(distance=5)
    params = {} if name == "servedio-average" else {"max_iter": 3}
    fits = [make(name, warm_start=warm_start, **params).fit(X, y) for warm_start in (False, True)]
    for classifier in (*fits, *(in_chunks(clone(fitted), X, y, 30) for fitted in fits)):
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


def test_docstrings_and_one_row_of_the_table_say_what_is_kept():
    table = (Path(margins.__file__).parents[1] / "docs" / "streams.md").read_text(encoding="utf-8")
    header = "| algorithms | between chunks"
    rows = table[table.index(header) :].partition("\n\n")[0].splitlines()
    for name in (*STREAMS, "pdm-succ"):
        assert "\n\n**Kept** between chunks and fits: " in ALGORITHMS[name].__doc__, name
        n_rows = sum(f"`{name}`" in row.split("|")[1].partition("; without")[0] for row in rows)
        assert n_rows <= 1, name  # the docstring is enough


@pytest.mark.parametrize("averaging, most", [("last", 2), ("averaged", 3), ("longest", 3)])
def test_a_pickle_holds_only_the_model_and_the_state_of_the_stream(averaging, most):
    X = np.random.default_rng(0).normal(size=(20, 5000))
    fit = margins.get("perceptron")(averaging=averaging, random_state=0).fit(X, X[:, 0] > 0)
    assert len(pickle.dumps(fit)) < (most + 0.2) * fit.coef_.nbytes
