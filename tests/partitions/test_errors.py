"""What is not allowed in fits of partitions: parameters, before any work; chunks and labels, by name."""

import numpy as np
import pytest
from partitioned_problems import chunks_of, problem
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import margins
from margins.data.chunks import Chunks

X, Y = problem(m=60)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("auto", {"kernel": "rbf"}, "kernel of .* must be 'linear' if X is Chunks"),
        ("auto", {"C": np.inf}, "C of .* must be finite if X is Chunks"),
        ("auto", {"solver": "dcd"}, "solver of .* must be 'auto' or 'newton'.*Chunks"),
        ("auto", {"warm_start": True}, "warm_start of .* must be False if X is Chunks"),
        ("pdm", {"kernel": "rbf"}, "kernel of pdm .* must be 'linear' if X is Chunks.* Got 'rbf'"),
        ("mpu", {"warm_start": True}, "warm_start of mpu .* must be False if X is Chunks"),
        ("dcd", {}, "shrinking of dcd .* must be False if X is Chunks"),
        ("voted-perceptron", {}, "averaging of voted-perceptron .* must be 'last', .*Got 'voted'"),
        ("pocket", {}, "averaging of pocket .* must be 'last', .*Got 'pocket'"),
        ("perceptron", {"averaging": "tail"}, "averaging of perceptron .*Got 'tail'"),
    ],
)
def test_parameters_that_need_all_samples_in_memory_are_rejected(name, parameters, message):
    def reader():
        raise AssertionError("nothing is read")

    with pytest.raises(ValueError, match=message):
        margins.get(name)(**parameters).fit(Chunks([reader]))


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
        ((np.where(X[30:] > 10, 0, np.nan), Y[30:]), "^chunk 1 of .*: Input X contains NaN"),
        ((X[30:, :4], Y[30:]), "8 features, like the first chunk. Got 4 in chunk 1"),
        ((X[30:], Y[29:]), "y of chunk 1 of .* must have 30 labels, one for each row. Got 31"),
        ((X[30:], np.zeros((30, 2))), "^chunk 1 of .*: y should be a 1d"),
        ((X[30:], np.full(30, np.nan)), "^y of chunk 1 of .* must be finite"),
        ((X[30:], np.linspace(0, 1, 30)), "^chunk 1 of .*: Unknown label type"),
        ((X[30:], Y[30:].astype("S1")), "^y of chunk 1 of .*bytes"),
        ((X[30:], np.zeros(30, int)), "^y of .* must hold either numbers or str"),
        ((X[30:], None), "^y of chunk 1 of .* must hold a label for each row. Got None"),
        ((X[30:], [None] * 30), "^y of chunk 1 of .* must hold numbers or str, .* for sample 0"),
        ((X[30:], Y[30:], ["heavy"] * 30), "^chunk 1 of .*: could not convert string to float"),
        ((None, Y[30:]), "^chunk 1 of .*: Expected sequence or array-like, got .*NoneType"),
        ((5, Y[30:]), "^chunk 1 of .*: Expected sequence or array-like, got .*int"),
        (([["a", "b"]] * 30, Y[30:]), "^chunk 1 of .*"),
        (([[1.0], [1.0, 2.0]] * 15, Y[30:]), "^chunk 1 of .*"),
        ((X[30:],), "^chunk 1 of .* must be a tuple .* Got 1 items"),
        ((X[30:], Y[30:], -np.ones(30)), r"sample_weight of chunk 1 .* must be in \[0, inf\). Got -1"),
        ((X[30:], Y[30:], [1.0] * 29 + [np.nan]), "sample_weight of chunk 1 .* Got nan for row 29"),
        ((X[30:], Y[30:], [np.inf] * 30), "sample_weight of chunk 1 .* Got inf for row 0"),
        ((broken_csr(), Y[30:]), "must hold columns in"),
        (X[30:], r"chunk 1 of .* must be a tuple \(X, y\)"),
        ((1e160 * X[30:], Y[30:]), "^chunk 1 of .*: Row 0 of X is too long"),
        ((X[30], Y[30:]), "^chunk 1 of .*: Expected 2D array"),
    ],
)
def test_a_chunk_that_is_not_allowed_is_named(second, message):
    classifier = margins.MarginClassifier()
    with pytest.raises(ValueError, match=message):
        classifier.fit(Chunks([(X[:30], Y[:30]), second]))
    assert not hasattr(classifier, "coef_")


def test_chunks_may_hold_lists():
    expected = margins.MarginClassifier(random_state=0).fit(chunks_of(X, Y, 2))
    lists = [(X[rows].tolist(), Y[rows].tolist(), [1.0] * 30) for rows in (slice(0, 30), slice(30, 60))]
    classifier = margins.MarginClassifier(random_state=0).fit(Chunks([*lists, ([], [])]))
    np.testing.assert_array_equal(classifier.coef_, expected.coef_)
    assert classifier.score(Chunks(lists)) == expected.score(X, Y)
    whole = margins.MarginClassifier(random_state=0).fit(Chunks.of_rows(X.tolist(), Y, n_rows=30))
    np.testing.assert_array_equal(whole.coef_, expected.coef_)


def test_labels_in_a_column_are_read_as_a_vector_with_a_warning():
    expected = margins.MarginClassifier(random_state=0).fit(chunks_of(X, Y, 2))
    classifier = margins.MarginClassifier(random_state=0)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        classifier.fit(Chunks([(X[:30], Y[:30, None]), (X[30:], Y[30:])]))
    np.testing.assert_array_equal(classifier.coef_, expected.coef_)


LARGE = 2**53


@pytest.mark.parametrize(
    ("one", "other", "dtype"),
    [
        ((np.int64, [LARGE, LARGE + 1]), (np.uint64, [LARGE + 2, LARGE + 3]), np.int64),
        ((np.int64, [5, 7]), (np.uint64, [7, 2**63]), np.uint64),
        ((np.int32, [5, 7]), (np.uint8, [200, 7]), np.int64),
        ((np.int64, [5, 7]), (np.float64, [5.0, 8.0]), np.float64),
        ((bool, [False, True]), (np.int64, [0, 2]), np.int64),
        ((np.str_, ["a", "b"]), (np.str_, ["abc", "b"]), np.str_),
    ],
)
def test_labels_of_several_dtypes_stay_exact(one, other, dtype):
    parts = [np.array(values * 15, dtype=kind) for kind, values in (one, other)]
    exact = sorted({label for part in parts for label in part.tolist()})
    chunks = Chunks([(X[:30], parts[0]), (X[30:], parts[1])])
    classifier = margins.MarginClassifier().fit(chunks)
    assert classifier.classes_.tolist() == exact
    assert classifier.classes_.dtype.kind == np.dtype(dtype).kind
    codes = np.concatenate([[exact.index(label) for label in part.tolist()] for part in parts])
    expected = margins.MarginClassifier().fit(Chunks([(X[:30], codes[:30]), (X[30:], codes[30:])]))
    np.testing.assert_array_equal(classifier.coef_, expected.coef_)
    assert classifier.score(chunks) == expected.score(X, codes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((np.int64, [-1, 7]), (np.uint64, [2**63, 7])),
        ((np.int64, [LARGE + 1, 7]), (np.float64, [5.0, 7.0])),
    ],
)
def test_labels_that_no_dtype_holds_exactly_are_rejected(one, other):
    first, second = (np.array(values * 15, dtype=kind) for kind, values in (one, other))
    with pytest.raises(ValueError, match=f"one dtype .* exactly. Got {second.dtype}|{first.dtype}, .*"):
        margins.MarginClassifier().fit(Chunks([(X[:30], first), (X[30:], second)]))


def test_an_error_of_a_reader_has_a_note_that_names_the_chunk():
    def broken():
        raise OSError("the disk is gone")

    for method in (margins.MarginClassifier().fit, margins.MarginClassifier().fit(X, Y).score):
        with pytest.raises(OSError, match="the disk is gone") as caught:
            method(Chunks([(X, Y), broken]))
        assert caught.value.__notes__[0].startswith("The function that reads chunk 1 of Margin")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((X[30:], Y[:1]), "y of chunk 1 of .*score.* must have 30 labels, one for each row. Got 1"),
        ((X[30:], Y[30:], -np.ones(30)), "sample_weight of chunk 1 of .*score.* must be in"),
        ((X[30:, :4], Y[30:]), "^chunk 1 of .*score.*: X has 4 features"),
        ([X[30:], Y[30:]], "chunk 1 of .*score.* must be a tuple"),
    ],
)
def test_chunks_to_score_are_checked_as_those_to_train(second, message):
    classifier = margins.MarginClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        classifier.score(Chunks([(X[:30], Y[:30]), second]))
    with pytest.raises(ValueError, match="must be given a sample of positive weight"):
        classifier.score(Chunks([(X, Y, np.zeros(60))]))


def test_a_chunk_must_be_the_same_whenever_it_is_read():
    sizes = iter([60, 50, 60, 60])

    def reader():
        n = next(sizes)
        return X[:n], Y[:n]

    message = "must be the same every time it is read. Got 50 rows, and 60 the first"
    with pytest.raises(ValueError, match=message):
        margins.MarginClassifier().fit(Chunks([reader]))
    widths = iter([8, 7])
    with pytest.raises(ValueError, match="must have 8 features, like the other chunks. Got 7"):
        margins.MarginClassifier().fit(Chunks([lambda: (X[:, : next(widths)], Y)]))


def test_classes_come_from_all_chunks():
    order = np.argsort(Y, kind="stable")
    classifier = margins.MarginClassifier().fit(chunks_of(X[order], Y[order], 5))
    assert classifier.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="at least 2 classes. Got 1 class: 'a'"):
        margins.MarginClassifier().fit(Chunks([(X[:9], ["a"] * 9), (X[9:12], ["a"] * 3)]))
    weight = (Y == "a").astype(float)
    with pytest.raises(ValueError, match="samples of positive weight. Got 1: 'a'"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 3, weight))
    with pytest.raises(ValueError, match=r"At least 2 classes .* positive weight\. Got none"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 3, 0 * weight))
    with pytest.raises(ValueError, match="class_weight of .* must name classes of y"):
        margins.MarginClassifier(class_weight={"z": 1}).fit(chunks_of(X, Y, 3))
    with pytest.raises(ValueError, match="C of .*, times the weight of a sample"):
        margins.MarginClassifier().fit(chunks_of(X, Y, 3, np.full(60, 1e-200)))
    with pytest.raises(ValueError, match="only empty chunks"):
        margins.MarginClassifier().fit(Chunks([(X[:0], Y[:0])]))


def test_explain_needs_samples_in_memory():
    with pytest.raises(ValueError, match="X of .*explain.* must be in memory. Got a Chunks"):
        margins.MarginClassifier().explain(chunks_of(X, Y, 2), None)


def test_callbacks_observe_fits_in_memory_alone():
    classifier = margins.MarginClassifier()
    classifier._skl_callbacks = [object()]  # as set_callbacks leaves them
    with pytest.raises(ValueError, match="set_callbacks of .* must be without callbacks if X is Chunks"):
        classifier.fit(chunks_of(X, Y, 2))


def test_labels_in_addition_to_chunks_are_rejected_by_score():
    classifier = margins.MarginClassifier().fit(X, Y)
    for parameter in ("y", "sample_weight"):
        with pytest.raises(ValueError, match=f"{parameter} of .* must be None if X is Chunks"):
            classifier.score(chunks_of(X, Y, 2), **{parameter: Y})
