"""What is not allowed in fits of partitions: parameters, before any work; chunks and labels, by name."""

import numpy as np
import pytest
from partitioned_problems import chunks_of, problem
from scipy import sparse

import margins
from margins.data.chunks import Chunks

X, Y = problem(m=60)


@pytest.mark.parametrize(
    ("parameters", "name", "allowed"),
    [
        ({"kernel": "rbf"}, "kernel", "'linear'"),
        ({"C": np.inf}, "C", "finite"),
        ({"solver": "dcd"}, "solver", "'auto' or 'newton'"),
        ({"warm_start": True}, "warm_start", "False"),
    ],
)
def test_parameters_that_need_all_samples_in_memory_are_rejected(parameters, name, allowed):
    def reader():
        raise AssertionError("nothing is read")

    message = f"^{name} of .*MarginClassifier.fit.* must be {allowed}.*Chunks"
    with pytest.raises(ValueError, match=message):
        margins.MarginClassifier(**parameters).fit(Chunks([reader]))


def test_labels_are_in_the_chunks():
    with pytest.raises(ValueError, match="y of .* must be None if X is Chunks"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 2), Y)
    with pytest.raises(ValueError, match="sample_weight of .* must be None"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 2), None, np.ones(60))


def broken_csr():
    matrix = sparse.csr_matrix(X[30:])
    matrix.indices = matrix.indices.copy()
    matrix.indices[5] = 1000
    return matrix


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((np.where(X[30:] > 10, 0, np.nan), Y[30:]), "NaN"),
        ((X[30:, :4], Y[30:]), "8 features, as the first one. Got 4 in chunk 1"),
        ((X[30:], Y[29:]), "y of chunk 1 of .* must have 30 labels, one for each row. Got 31"),
        ((X[30:], np.zeros((30, 2))), "1d"),
        ((X[30:], np.full(30, np.nan)), "NaN|finite"),
        ((X[30:], np.linspace(0, 1, 30)), "Unknown label type"),
        ((X[30:], Y[30:].astype("S1")), "bytes"),
        ((X[30:], np.zeros(30, int)), "either numbers or str"),
        ((X[30:], Y[30:], -np.ones(30)), r"sample_weight of chunk 1 .* must be in \[0, inf\). Got -1"),
        ((X[30:], Y[30:], np.full(30, np.nan)), "chunk 1 .* Got nan"),
        ((broken_csr(), Y[30:]), "must hold columns in"),
        (X[30:], r"chunk 1 of .* must be a tuple \(X, y\)"),
        ((1e160 * X[30:], Y[30:]), "too long"),
        ((X[30], Y[30:]), "2D array"),
    ],
)
def test_a_chunk_that_is_not_allowed_is_named(second, message):
    classifier = margins.MarginClassifier()
    with pytest.raises(ValueError, match=message):
        classifier.fit(Chunks([(X[:30], Y[:30]), second]))
    assert not hasattr(classifier, "coef_")


def test_a_chunk_must_be_the_same_whenever_it_is_read():
    sizes = iter([60, 50, 60, 60])

    def reader():
        n = next(sizes)
        return X[:n], Y[:n]

    with pytest.raises(ValueError, match="must be the same whenever it is read. Got 50 rows after 60"):
        margins.MarginClassifier().fit(Chunks([reader]))
    widths = iter([8, 7])
    with pytest.raises(ValueError, match="must have 8 features, as other chunks. Got 7"):
        margins.MarginClassifier().fit(Chunks([lambda: (X[:, : next(widths)], Y)]))


def test_classes_are_those_of_all_chunks():
    order = np.argsort(Y, kind="stable")
    classifier = margins.MarginClassifier().fit(chunks_of(X[order], Y[order], 5))
    assert classifier.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="at least 2 classes. Got 1 class: 'a'"):
        margins.MarginClassifier().fit(Chunks([(X[:9], ["a"] * 9), (X[9:12], ["a"] * 3)]))
    weight = (Y == "a").astype(float)
    with pytest.raises(ValueError, match="sample of positive weight. Got none of class 'b'"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 3, weight))
    with pytest.raises(ValueError, match="class_weight of .* must name classes of y"):
        margins.MarginClassifier(class_weight={"z": 1}).fit(chunks_of(X, Y, 3))
    with pytest.raises(ValueError, match="C of .*, times the weight of a sample"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 3, np.full(60, 1e-200)))
    with pytest.raises(ValueError, match="only empty chunks"):
        margins.MarginClassifier().fit(Chunks([(X[:0], Y[:0])]))


def test_labels_in_memory_are_required_as_before():
    with pytest.raises(ValueError, match="requires y"):
        margins.MarginClassifier().fit(X)


def test_there_is_no_plan_to_explain():
    with pytest.raises(ValueError, match="X of .*explain.* must be in memory. Got a Chunks"):
        margins.MarginClassifier().explain(chunks_of(X, Y, 2), None)


def test_callbacks_observe_fits_in_memory_alone():
    classifier = margins.MarginClassifier()
    classifier._skl_callbacks = [object()]  # as set_callbacks leaves them
    with pytest.raises(ValueError, match="set_callbacks of .* must be without callbacks if X is Chunks"):
        classifier.fit(chunks_of(X, Y, 2))


def test_weights_of_chunks_are_named_with_their_chunk():
    X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    for weight, message in (
        ([1, 1, 1, np.nan], r"chunk 1 of .* must be in \[0, inf\)\. Got nan for row 1"),
        ([1, 1, np.inf, 1], r"chunk 1 of .* must be in \[0, inf\)\. Got inf for row 0"),
        ([0, 0, 0, 0], r"Every class of .* must have a sample of positive weight"),
    ):
        with pytest.raises(ValueError, match=message):
            margins.MarginClassifier().fit(Chunks.of_rows(X, y, np.array(weight, float), n_rows=2))


def test_labels_beside_chunks_are_rejected_by_score():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    chunks = Chunks.of_rows(X, y)
    classifier = margins.MarginClassifier().fit(chunks)
    assert classifier.score(chunks) == 1
    for parameter in ("y", "sample_weight"):
        with pytest.raises(ValueError, match=f"{parameter} of .* must be None if X is Chunks"):
            classifier.score(chunks, **{parameter: y})


def test_an_error_of_a_reader_ends_score_too():
    def broken():
        raise IndexError("a bug of the reader")

    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    classifier = margins.MarginClassifier().fit(X, y)
    with pytest.raises(IndexError, match="a bug of the reader"):
        classifier.score(Chunks([lambda: (X, y), broken, lambda: (X, 1 - y)]))
