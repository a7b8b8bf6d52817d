"""Streams: partial_fit of every algorithm that has it."""

import pickle
from itertools import product

import joblib
import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, AVERAGE, LINEAR, NOISE_TOLERANT, ONLINE, VOTING, quiet
from numpy.testing import assert_allclose, assert_array_equal
from problems import assert_same_fit, clouds, make, state
from scipy import sparse
from sklearn.base import clone
from stream_problems import FEW_KINDS, KINDS

ONLINE_KINDS = [name for name in KINDS if name in ONLINE]
each_kind = pytest.mark.parametrize("name", ONLINE_KINDS)
few_kinds = pytest.mark.parametrize("name", FEW_KINDS)


def chunks(X, y, n_chunks=3):
    for rows in np.array_split(np.arange(len(y)), n_chunks):
        yield X[rows], y[rows]


def stream(classifier, X, y, n_chunks=3):
    """The classifier after all chunks."""
    for part, labels in chunks(X, y, n_chunks):
        assert classifier.partial_fit(part, labels, classes=np.unique(y)) is classifier
    return classifier


@few_kinds
def test_stream_begins_with_its_classes(name):
    X, y = clouds(n_classes=3)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        make(name).partial_fit(X, y)
    classifier = make(name).partial_fit(X[:5], y[:5], classes=[0, 1, 2])
    assert classifier.partial_fit(X[5:], y[5:]) is classifier
    assert_array_equal(classifier.classes_, [0, 1, 2])
    with pytest.raises(ValueError, match="at least 2"):
        make(name).partial_fit(X[:1], y[:1], classes=[0])


@few_kinds
def test_rejected_chunk_leaves_the_stream_as_it_was(name):
    X, y = clouds(n_classes=3)
    y = np.array(["ant", "bee", "cat"])[y]
    kept = {"class_weight": {"cat": 2.0}} if ALGORITHMS[name].WEIGHTS_MULTIPLY != "C" else {}
    classifier = make(name, **kept).partial_fit(X[:30], y[:30], classes=np.unique(y))
    untouched = pickle.loads(pickle.dumps(classifier))
    more, labels = X[30:], y[30:]
    for classes in (["ant", "bee"], ["ant", "bee", "dog"]):
        with pytest.raises(ValueError, match="is not the same as on last call"):
            classifier.partial_fit(more, labels, classes=classes)
    with pytest.raises(ValueError, match="3 features, but .* 4 features"):
        classifier.partial_fit(more[:, :3], labels)
    own_name = rf"{name} \({type(classifier).__name__}.partial_fit\)"
    with pytest.raises(ValueError, match=f"sample_weight of {own_name}"):
        classifier.partial_fit(more, labels, sample_weight=np.full(len(labels), -1.0))
    row = more.copy()
    row[3] *= 1e200
    with pytest.raises(ValueError, match="Row 3 of X is too long"):
        classifier.partial_fit(row, labels)
    assert_same_fit(classifier, untouched)
    assert_same_fit(classifier.partial_fit(more, labels), untouched.partial_fit(more, labels))


@few_kinds
def test_parameters_that_no_stream_supports_are_rejected(name):
    X, y = clouds()
    given = {"class_weight": "balanced"}
    if name not in LINEAR:
        given["kernel"] = "rbf"
    if name in NOISE_TOLERANT:
        given["averaging"] = "tail"
    for key, value in given.items():
        classifier = make(name, **{key: value})
        own_name = rf"{name} \({type(classifier).__name__}.partial_fit\)"
        sentence = f"{key} of {own_name} must .*Got '{value}'"
        with pytest.raises(ValueError, match=sentence):
            classifier.partial_fit(X, y, classes=[0, 1])
        assert not state(classifier)


@pytest.mark.parametrize(("name", "n_classes"), [*product(ONLINE_KINDS, [3]), *product(FEW_KINDS, [2])])
def test_pickled_stream_continues_like_the_stream(name, n_classes, tmp_path):
    X, y = clouds(n_classes=n_classes, m=90, distance=0.5)
    classifier = make(name)
    copies = []
    for part, labels in chunks(X, y):
        classifier.partial_fit(part, labels, classes=np.unique(y))
        copies = [copy.partial_fit(part, labels) for copy in copies]
        for copy in copies:
            assert_same_fit(copy, classifier)
            assert_array_equal(copy.decision_function(X), classifier.decision_function(X))
        joblib.dump(classifier, tmp_path / "model")
        copies.append(joblib.load(tmp_path / "model", mmap_mode="r"))  # its arrays are read-only
    assert classifier.n_updates_ > 10


@quiet
@each_kind
def test_fit_discards_the_stream_and_a_stream_continues_the_fit(name):
    X, y = clouds(n_classes=3)
    Z, z = clouds(d=3, seed=1)
    z = np.array(["ham", "spam"])[z]
    fresh = make(name, random_state=0).fit(Z, z)
    again = stream(make(name, random_state=0), X, y).fit(Z, z)
    assert_same_fit(again, fresh)
    assert_array_equal(again.decision_function(Z), fresh.decision_function(Z))
    # A chunk must have the classes and features of the fit, and continues it.
    with pytest.raises(ValueError, match="features"):
        again.partial_fit(X, np.array(["ham", "spam"])[y % 2])
    assert_same_fit(again, fresh)
    for part, labels in chunks(Z, z):
        again.partial_fit(part, labels)
        fresh.partial_fit(part, labels)
    assert_same_fit(again, fresh)
    assert_same_fit(stream(clone(again), X, y), stream(make(name), X, y))


@each_kind
def test_chunks_may_lack_classes_and_differ_in_layout(name):
    X, y = clouds(n_classes=3, distance=0.5)
    X = np.round(4 * X)  # small integers, so that the layout changes not one bit
    order = np.argsort(y, kind="stable")  # chunks of one class each
    X, y = X[order], y[order]
    plain = stream(make(name), X, y)
    mixed = make(name)
    layouts = (sparse.csr_array, np.float32, np.asfortranarray)
    for layout, (part, labels) in zip(layouts, chunks(X, y), strict=True):
        given = part.astype(layout) if layout is np.float32 else layout(part)
        mixed.partial_fit(given, labels, classes=[0, 1, 2])
    if name in VOTING:
        assert_array_equal(mixed.support_vectors_.toarray(), plain.support_vectors_)
    if name in [*LINEAR, "aggressive-romma"]:  # whose sums are rounded
        assert_allclose(mixed.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-9)
    else:
        assert_array_equal(mixed.decision_function(X), plain.decision_function(X))
        assert mixed.upper_bounds_ == plain.upper_bounds_
    assert mixed.learning_curve_ == plain.learning_curve_


@each_kind
def test_row_of_weight_zero_is_left_out_of_a_stream(name):
    X, y = clouds(n_classes=3, distance=0.5)
    weight = np.where(
        np.arange(len(y)) % 4 == 1, 0.0, 1.0 if ALGORITHMS[name].WEIGHTS_MULTIPLY == "C" else 2.0
    )
    kept = weight > 0
    zero, left_out = make(name), make(name)
    for rows in np.array_split(np.arange(len(y)), 3):
        zero.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
        rows = rows[kept[rows]]
        left_out.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    assert_array_equal(zero.decision_function(X), left_out.decision_function(X))
    assert zero.upper_bounds_ == left_out.upper_bounds_
    if name in VOTING:
        assert_array_equal(zero.support_vectors_, X[zero.support_])


@each_kind
@pytest.mark.parametrize("given", ["sample_weight", "class_weight"])
def test_a_chunk_whose_samples_all_have_weight_zero_changes_no_model(name, given):
    X, y = clouds(n_classes=3, distance=0.5)
    order = np.argsort(y == 0, kind="stable")  # chunks of the other classes, then of class 0
    X, y = X[order], y[order]
    begin = np.flatnonzero(y == 0)[0]
    blank = {"class_weight": {0: 0, 1: 1, 2: 1}} if given == "class_weight" else {}
    weighted, expected = make(name, **blank), make(name)
    expected.partial_fit(X[:begin], y[:begin], classes=[0, 1, 2])
    weight = None if blank else np.zeros(len(y) - begin)
    for rows in (slice(begin, None), slice(begin), slice(begin, None)):  # the first chunk, too
        of_rows = weight if rows.start == begin else None
        weighted.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=of_rows)
    assert_array_equal(weighted.decision_function(X), expected.decision_function(X))
    assert weighted.upper_bounds_ == expected.upper_bounds_
    assert weighted.n_updates_ == expected.n_updates_


@pytest.mark.parametrize(("name", "n_classes"), [*product(ONLINE_KINDS, [3]), *product(FEW_KINDS, [2])])
def test_every_chunk_is_an_epoch_of_the_learning_curve(name, n_classes):
    X, y = clouds(n_classes=n_classes)
    classifier = stream(make(name), X, y, n_chunks=4)
    assert classifier.n_iter_ == 4
    assert not classifier.converged_
    assert classifier.n_updates_ == sum(curve[-1].updates for curve in classifier.learning_curve_)
    for curve in classifier.learning_curve_:
        assert [epoch.epoch for epoch in curve] == [1, 2, 3, 4]
        if name in NOISE_TOLERANT or name == AVERAGE:
            updates = np.cumsum([epoch.mistakes for epoch in curve])
            assert [epoch.updates for epoch in curve] == updates.tolist()
