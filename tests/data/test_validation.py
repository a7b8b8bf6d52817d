"""Validation by a glance accepts what scikit-learn would leave as it is, and nothing else."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.utils import validation as of_sklearn

import margins
from margins.data import validation
from margins.data.chunks import Chunks
from margins.model_selection import parameter_search

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
Y = np.array([1, 1, 1, 0])


@pytest.fixture
def calls(monkeypatch):
    """The calls of scikit-learn's validation."""
    calls, original = [], of_sklearn.validate_data

    def validate_data(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(of_sklearn, "validate_data", validate_data)
    return calls


READY = {
    "float64": X,
    "float32": X.astype(np.float32),
    "Fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "CSR matrix": sparse.csr_matrix(X),
    "CSR array of float32": sparse.csr_array(X.astype(np.float32)),
}
NOT_READY = {
    "list": X.tolist(),
    "integers": X.astype(int),
    "booleans": X > 0,
    "float16": X.astype(np.float16),
    "foreign bytes": X.astype(">f8"),
    "CSC": sparse.csc_array(X),
    "COO": sparse.coo_array(X),
    "CSR of integers": sparse.csr_array(X.astype(int)),
    "frame": pd.DataFrame(X, columns=["a", "b"]),
}
LABELS = {
    "integers": Y,
    "booleans": Y > 0,
    "strings": np.array(["no", "yes"])[Y],
    "int8": Y.astype("i1"),
}
OTHER_LABELS = {
    "list": Y.tolist(),
    "objects": np.array(["no", "yes"], dtype=object)[Y],
    "floats": Y.astype(float),
    "column": pd.Series(Y),
    "categories": pd.Series(Y).astype(str).astype("category"),
    "numbers of several kinds": [1, 1.0, True, 0],
}


@pytest.mark.parametrize("kind", READY)
@pytest.mark.parametrize("labels", LABELS)
def test_valid_input_is_not_converted(kind, labels, calls):
    given, y = READY[kind], LABELS[labels]
    classifier = margins.get("mpu")(random_state=0).fit(given, y)
    assert classifier.n_features_in_ == 2
    assert_array_equal(classifier.predict(given), y)
    assert not calls
    valid = validation.validate_samples(classifier, given, y, "fit")
    assert valid.X is given and valid.y is y
    assert_array_equal(valid.classes[valid.codes], y)


@pytest.mark.parametrize("kind", NOT_READY)
def test_other_matrices_are_left_to_scikit_learn(kind, calls):
    classifier = margins.get("mpu")(random_state=0).fit(NOT_READY[kind], Y)
    assert len(calls) == 1
    if kind != "booleans":  # other numbers
        assert_array_equal(classifier.predict(NOT_READY[kind]), Y)


def test_subclasses_of_arrays_are_left_to_scikit_learn(calls):
    with pytest.raises(Exception):  # noqa: B017 - the kind of error is scikit-learn's
        margins.get("mpu")().fit(X.view(np.recarray) * np.nan, Y)
    assert len(calls) == 1


@pytest.mark.parametrize("kind", OTHER_LABELS)
def test_other_labels_are_left_to_scikit_learn(kind, calls):
    classifier = margins.get("mpu")(random_state=0).fit(X, OTHER_LABELS[kind])
    assert len(calls) == 1
    assert_array_equal(classifier.predict(X), np.asarray(OTHER_LABELS[kind]))


def test_finite_numbers_with_an_infinite_sum_are_finite(calls):
    large = np.full((4, 2), 1e308)
    with pytest.raises(ValueError, match="too long"):
        margins.get("mpu")().fit(large, Y)
    assert len(calls) == 1


def test_many_classes_raise_the_warning_of_scikit_learn():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(24, 2))
    with pytest.warns(UserWarning, match="unique classes"):
        margins.get("mpu")(eps=0.5).fit(many, np.arange(24))


def test_names_of_features_are_kept_forgotten_and_compared():
    frame = pd.DataFrame(X, columns=["a", "b"])
    classifier = margins.get("mpu")().fit(frame, Y)
    assert classifier.feature_names_in_.tolist() == ["a", "b"]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        classifier.predict(X)
    classifier.fit(X, Y)
    assert not hasattr(classifier, "feature_names_in_")
    with pytest.raises(ValueError, match="3 features"):
        classifier.predict(np.ones((1, 3)))


def test_finiteness_may_be_assumed():
    with config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="too long"):  # our own check of the squared norms
            margins.get("mpu")().fit(np.where(X > 0, np.inf, X), Y)


MIXED = {
    "list": [1, "a", 1, "a"],
    "tuple": ("a", 1.5, "a", 1.5),
    "objects": np.array([1, "a", 1, "a"], dtype=object),
    "series": pd.Series([1, "a", 1, "a"]),
    "booleans": [True, "a", True, "a"],
    "column": np.array([[1], ["a"], [1], ["a"]], dtype=object),
}
BYTES = {
    "list": [b"ham", b"spam", b"ham", b"spam"],
    "array": np.array([b"ham", b"spam", b"ham", b"spam"]),
    "objects": np.array([b"ham", "spam", "spam", "spam"], dtype=object),
}


def calls_with_labels():
    """Everything that takes labels: (how errors call it, the call)."""
    fitted = margins.get("perceptron")(random_state=0).fit(X, Y)
    return [
        ("Perceptron.fit", margins.get("perceptron")().fit),
        ("MarginClassifier.fit", margins.MarginClassifier().fit),
        ("MarginClassifier.fit", margins.MarginClassifier().explain),
        ("Perceptron.partial_fit", fitted.partial_fit),
        ("parameter_search", partial(parameter_search, margins.get("perceptron")(), {"eta": [1]})),
    ]


@pytest.mark.parametrize("kind", MIXED)
def test_error_for_numbers_among_strings_names_both(kind):
    for caller, call in calls_with_labels():
        with pytest.raises(ValueError) as refusal:
            call(X, MIXED[kind])
        values = np.asarray(MIXED[kind], dtype=object).ravel().tolist()
        number = next(value for value in values if not isinstance(value, str))
        problem = f"must hold either numbers or str. Got both, {number!r} and 'a'."
        assert str(refusal.value) == f"y of {caller} {problem}"


@pytest.mark.parametrize("kind", BYTES)
def test_error_for_bytes_names_the_label(kind):
    for caller, call in calls_with_labels():
        with pytest.raises(ValueError) as refusal:
            call(X, BYTES[kind])
        assert str(refusal.value) == (
            f"y of {caller} must hold numbers or str. Got bytes, b'ham': decode them."
        )


MISSING = {
    "None": ["a", None, "b", "a"],
    "NaN": ["a", np.nan, "b", "a"],
    "NaN among numbers": pd.Series([1, np.nan, 2, 1], dtype=object),
    "NA": ["a", pd.NA, "b", "a"],
    "text of pandas": pd.Series(["a", None, "b", "a"], dtype="string"),
    "text of pandas by default": pd.Series(["a", None, "b", "a"]),
    "categories": pd.Categorical(["a", None, "b", "a"]),
    "dates": pd.to_datetime(pd.Series(["2020-01-01", None, "2021-01-01", "2020-01-01"])),
    "dates of NumPy": np.array(["2020-01-01", "NaT", "2021-01-01", "2020-01-01"], dtype="M8[D]"),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_label_is_an_error_that_names_the_sample(kind):
    message = r"must hold numbers or str, and no missing label\. Got .* for sample 1\."
    calls = {
        "y of Perceptron.fit": margins.get("perceptron")().fit,
        "y of chunk 0": lambda X, y: margins.MarginClassifier().fit(Chunks([(X, y)])),
        "y of Perceptron.partial_fit": lambda X, y: margins.get("perceptron")().partial_fit(X, y, ["a"]),
        "y of parameter_search": lambda X, y: parameter_search(
            margins.MarginClassifier(), {"C": [1.0]}, X, y
        ),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"^{name}.* {message}"):
            call(X, MISSING[kind])


def masked(values):
    """The same values, of which the last one is masked."""
    return np.ma.array(values, mask=np.arange(values.size).reshape(values.shape) == values.size - 1)


MASKABLE = {
    "fit": lambda X, y, weight: margins.MarginClassifier().fit(X, y, weight),
    "fit of MarginClassifierCV": lambda X, y, weight: margins.MarginClassifierCV(cv=2).fit(X, y, weight),
    "partial_fit": lambda *given: margins.get("pa-i")().partial_fit(*given[:2], [0, 1], given[2]),
    "fit of chunks": lambda *given: margins.MarginClassifier().fit(Chunks([given])),
    "fit of rows": lambda *given: margins.MarginClassifier().fit(Chunks.of_rows(*given)),
    "study": lambda X, y, weight: parameter_search(
        margins.MarginClassifier(), {"C": [1.0]}, X, y, sample_weight=weight, cv=2
    ),
    "decision_function": lambda X, *_: margins.MarginClassifier().fit(EVEN, SIGNS).decision_function(X),
    "score": lambda X, y, _: margins.MarginClassifier().fit(EVEN, SIGNS).score(X, y),
}
EVEN, SIGNS = np.arange(16.0).reshape(8, 2), np.arange(8) % 2


@pytest.mark.parametrize("method", MASKABLE)
def test_masked_values_are_an_error_because_nothing_reads_a_mask(method):
    given = [EVEN, SIGNS, np.ones(8)]
    MASKABLE[method](*[np.ma.array(values) for values in given])  # nothing is masked
    count = {"decision_function": 1, "score": 2}.get(method, 3)
    for k in range(count):
        place = r"\[7, 1\]" if k == 0 else r"\[7\]"
        changed = [masked(values) if j == k else values for j, values in enumerate(given)]
        with pytest.raises(ValueError, match=f"must have no masked values. Got 1, the first at {place}"):
            MASKABLE[method](*changed)


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        ([0, "a"], Y, "^classes of {} must hold either numbers or str. Got both, 0 and"),
        ([b"a", b"b"], Y, r"^classes of {} must hold numbers or str\. Got bytes, b'a'"),
        (["a", "b"], Y, r"^y of {} must hold classes of the stream, \['a', 'b'\]\. Got 1"),
        ([0, 1], ["no", "yes"] * 2, r"^y of {} must hold classes of the stream, \[0, 1\]\. Got 'no'"),
    ],
)
def test_classes_of_a_stream_are_checked_like_labels(classes, y, message):
    with pytest.raises(ValueError, match=message.format(r"perceptron \(Perceptron\.partial_fit\)")):
        margins.get("perceptron")().partial_fit(X, y, classes=classes)


LARGE = [5, 2**60 + 1, 2**60 + 2, 5]


NULLABLE = {
    "array": pd.array(LARGE, dtype="Int64"),
    "series": pd.Series(LARGE, dtype="Int64", index=[7, 3, 5, 1]),
    "arrow": pd.Series(LARGE, dtype="int64[pyarrow]"),
    "frame": pd.DataFrame({"label": pd.array(LARGE, dtype="Int64")}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("kind", NULLABLE)
def test_labels_of_nullable_types_are_exact_beyond_the_integers_of_a_double(kind):
    expected, labels = sorted(set(LARGE)), NULLABLE[kind]
    perceptron = margins.get("perceptron")(random_state=0)
    assert perceptron.fit(X, labels).classes_.tolist() == expected
    assert perceptron.score(X, labels) == perceptron.score(X, np.array(LARGE))
    assert margins.MarginClassifier().fit(Chunks.of_rows(X, labels)).classes_.tolist() == expected
    stream = perceptron.partial_fit(X, labels, classes=pd.array(expected, dtype="Int64"))
    assert stream.classes_.tolist() == expected


def test_unsigned_labels_and_booleans_of_nullable_types_keep_their_kind():
    unsigned = pd.array([2**63 + 1, 2**63 + 2] * 2, dtype="UInt64")
    assert margins.MarginClassifier().fit(X, unsigned).classes_.tolist() == [2**63 + 1, 2**63 + 2]
    booleans = pd.array([True, False] * 2, dtype="boolean")
    assert margins.MarginClassifier().fit(X, booleans).classes_.dtype == bool
    with pytest.raises(ValueError, match="NaN"):
        margins.MarginClassifier().fit(X, pd.array([1, 2, None, 1], dtype="Int64"))


def test_a_study_reads_nullable_labels_exactly():
    large, labels = np.tile(X, (6, 1)), pd.Series([2**60 + 1, 2**60 + 2] * 12, dtype="Int64")
    one, other = (
        parameter_search(margins.get("perceptron")(), {"C": [1.0]}, large, y, cv=2, random_state=0)
        for y in (labels, labels.to_numpy("i8"))
    )
    assert one == other
