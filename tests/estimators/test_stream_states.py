"""The state of a stream: interrupted chunks, and files."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, quiet
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from stream_problems import (
    FEW_KINDS,
    KINDS,
    STREAMS,
    VOTING,
    WITH_PARAMETERS,
    assert_same_model,
    clouds,
    each_kind,
    in_chunks,
    make,
    model,
)

import margins

INTERRUPTS = [
    *((name, "stream", "_process_chunk", np.asarray) for name in KINDS),
    *((name, "fit", "_model_attributes", sparse.csr_array) for name in KINDS),
    *((name, "stream", "_model_attributes", sparse.csr_array) for name in FEW_KINDS),
    *((name, "fit", "_process_chunk", np.asarray) for name in FEW_KINDS),
]


@pytest.mark.parametrize(("name", "begin", "where", "layout"), INTERRUPTS)
@quiet
def test_an_interrupted_chunk_leaves_the_stream_as_it_was(name, begin, where, layout):
    class Interrupted(ALGORITHMS[name]):
        """As the algorithm."""

        interrupts, n_processed = False, 0

        def _process_chunk(self, stream, *args):
            super()._process_chunk(stream, *args)
            Interrupted.n_processed += 1
            if self.interrupts and where == "_process_chunk" and self.n_processed == 2:
                raise KeyboardInterrupt

        def _model_attributes(self, fit):
            attributes = super()._model_attributes(fit)
            if self.interrupts and where == "_model_attributes":
                raise KeyboardInterrupt
            return attributes

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
        Interrupted.n_processed = 0
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
