"""The reader of svmlight's format: exact numbers, and where a malformed file is malformed."""

import io
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from properties import examples
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import margins
from margins.readers.malformed import MalformedFile
from margins.readers.svmlight import parsed

SIGNS, DIGITS = st.sampled_from(["", "+", "-"]), st.text("0123456789", max_size=25)
EXPONENTS = st.just("") | st.builds("e{}{}".format, SIGNS, st.integers(0, 99))


def matrix(read):
    return sparse.csr_array(read[:3], read.shape)


def read_value(text):
    return parsed(f"1 1:{text}\n".encode(), "f").values[0]


@pytest.mark.parametrize("name", ["auto", "pam", "pa-i"])
def test_what_scikit_learn_reads_is_trained_on_and_predicted_as_it_is(name):
    """Since scikit-learn 1.9 the indices of its own reader are 64-bit."""
    X, y = load_svmlight_file(io.BytesIO(b"1 1:1 3:2\n1 2:1\n-1 1:-1\n-1 3:-2\n"))
    params = {"loss": "hinge", "kernel": "rbf"} if name == "auto" else {}
    for chosen in ({}, params):
        classifier = margins.get(name)(random_state=0, **chosen).fit(X, y)
        assert (classifier.predict(X) == y).all()


def test_samples_are_read_as_by_scikit_learn():
    X = sparse.random(50, 30, density=0.2, random_state=0, format="csr")
    file = io.BytesIO()
    dump_svmlight_file(X, np.arange(50) % 3, file, zero_based=False)
    read = parsed(file.getvalue(), "f").of_numpy()
    expected, labels = load_svmlight_file(io.BytesIO(file.getvalue()))
    assert (matrix(read) != expected).nnz == 0 and read.shape == expected.shape
    np.testing.assert_array_equal(read.labels, labels)
    assert read.columns.dtype == read.starts.dtype == np.int32


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_nearest_double(value):
    assert read_value(repr(value)) == value


@examples(50)
@given(SIGNS, DIGITS.filter(bool) | st.builds("{}.{}".format, DIGITS, DIGITS), EXPONENTS)
def test_a_number_is_read_as_python_reads_it(sign, digits, exponent):
    assume(digits != ".")
    assert read_value(sign + digits + exponent) == float(sign + digits + exponent)


@given(st.integers(2**52, 2**53 - 1), st.integers(0, 5), st.integers(-1, 1), st.integers(-9, 0))
def test_a_number_between_two_doubles_goes_to_the_even_one(mantissa, exponent, off, shift):
    text = f"{(2 * mantissa + 1) * 2**exponent + off}e{shift}"
    assert read_value(text) == float(text)


@pytest.mark.parametrize(
    "text", ["1e-400", "0." + "0" * 39 + "1", "5.", "-.5", "-0", "0." + "0" * 100001 + "1e100010"]
)
def test_unusual_numbers(text):
    value = read_value(text)
    assert value == float(text) and math.copysign(1, value) == math.copysign(1, float(text))


def test_blank_lines_comments_and_all_line_ends_are_allowed():
    text = b"\xef\xbb\xbf# made by 3:4\r\n1 2:5\t4:6   # a:b\r\n\r\n   \n-1\n+1 1:7"
    read = parsed(text, "f")
    np.testing.assert_array_equal(matrix(read).toarray(), [[0, 5, 0, 6], [0] * 4, [7, 0, 0, 0]])
    assert read.labels.tolist() == [1, -1, 1] and read.of_numpy().labels.dtype == np.int64
    assert len(read.values) == 3


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_label_is_exact(label):
    assert parsed(f"{label} 1:1\n".encode(), "f").labels.tolist() == [label]


def test_a_label_may_be_written_with_a_point_or_an_exponent():
    labels = parsed(b"1.0\n-1.00\n2e3\n+0\n-0\n9007199254740991.0", "f").labels
    assert labels.tolist() == [1, -1, 2000, 0, 0, 2**53 - 1]


def test_a_file_may_count_from_0():
    assert parsed(b"1 0:5 2:1\n", "f", zero_based=True).columns.tolist() == [0, 2]


def test_fields_for_ranking_and_costs_are_skipped():
    text = b"1 qid:3 1:2 # qid:x\n-1 2:1 cost:.5 sid:-7\n0 cost:1e-3 qid:4\r\n"
    read = parsed(text, "f")
    np.testing.assert_array_equal(matrix(read).toarray(), [[2, 0], [0, 1], [0, 0]])
    assert read.labels.tolist() == [1, -1, 0] and read.skipped == ("cost", "qid", "sid")
    assert parsed(b"1 1:2 # qid:3\n", "f").skipped == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("1 1:2\nred 1:2\n", 2, 1, "label, a whole number. Got 'red'"),
        ("1 1:2\n  nan 1:2\n", 2, 3, "label, a whole number. Got 'nan'"),
        ("1,2 1:2\n", 1, 1, "label, a whole number. Got '1,2'"),
        ("1 1:2\n1.7 1:2\n", 2, 1, "a whole number, which names a class; it may not have a frac"),
        ("9223372036854775808 1:2\n", 1, 1, "a label must be in [-2**63, 2**63)"),
        ("-9223372036854775809 1:2\n", 1, 1, "a label must be in [-2**63, 2**63)"),
        ("99999999999999999999999 1:2\n", 1, 1, "a label must be in [-2**63, 2**63)"),
        ("9007199254740993.0 1:2\n", 1, 1, "with a point or an exponent, in (-2**53, 2**53)"),
        ("1 1:2 x:3\n", 1, 7, "index:value, the index a whole number. Got 'x:3'"),
        ("1 qid:x 1:2\n", 1, 3, "index:value, the index a whole number. Got 'qid:x'"),
        ("1 qid:3 1:2\nqid:7 1:2\n", 2, 1, "label, a whole number. Got 'qid:7'"),
        ("1 1:1 qid:3 2:x\n", 1, 15, "must be a finite number. Got 'x'"),
        ("1 1:2 -3:3\n", 1, 7, "index:value, the index a whole number. Got '-3:3'"),
        ("1 12\n", 1, 3, "with a colon and no blank between the two. Got '12'"),
        ("1 1 :2\n", 1, 3, "with a colon and no blank between the two. Got '1'"),
        ("1 1: .5\n", 1, 5, "must follow the colon, with no blank between the two. Got '1:'"),
        ("1 1:\n2 1:3\n", 1, 5, "must follow the colon, with no blank between the two. Got '1:'"),
        ("1 1:# 2\n", 1, 5, "must follow the colon, with no blank between the two. Got '1:'"),
        ("1 1:2x\n", 1, 5, "must be a finite number. Got '2x'"),
        ("1 1:1e999\n", 1, 5, "must be a finite number. Got '1e999'"),
        ("1 1:inf\n", 1, 5, "must be a finite number. Got 'inf'"),
        ("1 1:0x10\n", 1, 5, "must be a finite number. Got '0x10'"),
        ("1 1:1e\n", 1, 5, "must be a finite number. Got '1e'"),
        ("1 1:2\0 2:1\n", 1, 6, "index:value, the index a whole number. Got '\\x00'"),
        ("1 0:2\n", 1, 3, "the first index is 1; a file that counts from 0 needs zero_based=True. Got"),
        ("1 3:2 2:1\n", 1, 7, "must ascend. Got '2:1'"),
        ("1 3:2 3:1\n", 1, 7, "must ascend. Got '3:1'"),
        ("1 2147483647:1\n", 1, 3, "at most 2147483646. Got '2147483647:1'"),
        ("1 99999999999999999999999999:1\n", 1, 3, "at most 2147483646"),
        ("# é\n1 1:é\n", 2, 5, "must be a finite number. Got 'é'"),
        ("", 1, 1, "at least one sample"),
        ("# nothing\n", 1, 1, "at least one sample"),
    ],
)
def test_a_malformed_file_is_reported_with_line_and_column(text, line, column, problem):
    with pytest.raises(MalformedFile) as caught:
        parsed(text.encode(), "train.svm")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"train.svm:{line}:{column}: ") and problem in str(caught.value)


@given(st.binary(max_size=60))
def test_any_bytes_are_samples_or_an_error_within_the_text(text):
    try:
        read = parsed(text, "f")
    except MalformedFile as error:
        assert 1 <= error.line <= text.count(b"\n") + 1
    else:
        matrix(read).check_format()


@given(st.text("0123456789:. -+e\n#\t", max_size=80))
def test_any_text_of_its_characters_is_read_as_by_scikit_learn_or_rejected(text):
    try:
        read = parsed(text.encode(), "f")
    except MalformedFile:
        return
    expected, labels = load_svmlight_file(
        io.BytesIO(text.encode()), n_features=read.shape[1] or None, zero_based=False
    )
    np.testing.assert_array_equal(matrix(read).toarray(), expected.toarray()[:, : read.shape[1]])
    np.testing.assert_array_equal(read.labels, labels)
