"""A matrix is its numbers: how they lie in memory changes no result, and X stays as it is."""

import dataclasses
import functools
import math
import tempfile
from itertools import product

import malformed
import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, LINEAR, NAMES, SUMS_OF_SAMPLES, VOTING
from numpy.testing import assert_allclose, assert_array_equal
from sample_problems import ALL_LAYOUTS, doubled
from scipy import sparse

# Multiply or divide by what is no power of 2: sums are rounded. `auto` runs by rules here.
SHRINKING = {name for name in NAMES if name != "auto" and name not in SUMS_OF_SAMPLES}
PENALTIES = [math.inf, 0.5]  # 1 / (2 C) is an integer
# One that adds samples, one that shrinks, one whose model is a list of mistakes, and loops of their own.
# `check_algorithm` compares the storages that kernels distinguish for every algorithm: tests/testing.
FEW = sorted({"pdm", "mpcs", *VOTING, *LINEAR, "auto"})

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(name, X, y, **params):
    declared = {field.name for field in dataclasses.fields(ALGORITHMS[name])}
    # Newton steps are no sums of whole numbers; their layouts are compared in test_newton.py.
    params = {"random_state": 0, "max_iter": 30, "eps": 0.125, "solver": "unlearning", **params}
    return ALGORITHMS[name](**{key: params[key] for key in params if key in declared}).fit(X, y)


@functools.cache
def plain_fit(name, kind, container=np.asarray, **params):
    """The fit that fits to other layouts are compared with."""
    X, y = numbers(kind)
    return fit(name, container(X), y, **params)


def numbers(kind, m=40, d=7):
    """A problem of small integers, of real numbers that are exact in float32, or of ones."""
    rng = np.random.default_rng(1)
    if kind == "ones":
        X = (rng.random((m, d)) < 0.4).astype(float)
    elif kind == "integers":
        X = rng.integers(-3, 4, (m, d)) * (rng.random((m, d)) < 0.6).astype(float)
    else:
        X = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.8)
        X = X.astype(np.float32).astype(float)
    X[5] = 0  # an empty row
    X[-1] = 0  # and at the end
    X[:, 3] = 0  # an empty column
    noise = 0 if kind == "reals" else 0.5 * rng.normal(size=m)
    return X, np.where(X @ rng.integers(-3, 4, d) + noise > 0, 1, -1)


def memmap(array):
    """The array as a read-only memory map."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    with tempfile.TemporaryFile() as file:
        file.write(array.tobytes(order="A"))
        file.flush()
        return np.memmap(file, array.dtype, "r", shape=array.shape, order=order)


def within(X, index):
    """X as a view, by `index`, of a larger array full of other numbers."""
    larger = np.full((2 * len(X) + 3, 3 * X.shape[1] + 2), 77.0)
    view = larger[index][: len(X), : X.shape[1]]
    view[...] = X
    return view


def packed(X):
    """A field of records of 1 + 8 d bytes: strides are no multiples of the item size."""
    records = np.zeros(len(X), dtype=[("label", "i1"), ("row", "f8", (X.shape[1],))])
    records["row"] = X
    return records["row"]


DENSE = {
    "every third column": lambda X: within(X, np.s_[:, ::3]),
    "block of a larger matrix": lambda X: within(X, np.s_[3:, 2:]),
    "block of a larger transposed matrix": lambda X: within(X.T, np.s_[3:, 2:]).T,
    "rows and columns backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "memory map": memmap,
    "memory map of float32 in Fortran order": lambda X: memmap(np.asfortranarray(X, dtype=np.float32)),
    "every second row of a memory map": lambda X: memmap(X.repeat(2, axis=0))[::2],
    "unaligned": malformed.unaligned,
    "other byte order": malformed.swapped,
    "field of packed records": packed,
    "long double": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "list of lists": np.ndarray.tolist,
}


def csr_of(change):
    """CSR whose three arrays are changed by a function."""

    def make(X):
        X = sparse.csr_matrix(X)
        X.data, X.indices, X.indptr = change(X.data), change(X.indices), change(X.indptr)
        return X

    return make


def spacious(X):
    """Arrays longer than what is stored, as some operations of SciPy leave them."""
    X = sparse.csr_matrix(X)
    X.data, X.indices = np.append(X.data, [9.0] * 5), np.append(X.indices, np.int32([10**6] * 5))
    return X


CSR = {
    "CSR of memory maps": csr_of(memmap),
    "CSR of unaligned arrays": csr_of(malformed.unaligned),
    "CSR of the other byte order": csr_of(malformed.swapped),
    "CSR of strided arrays": csr_of(lambda array: array.repeat(2)[::2]),
    "CSR with unsorted int64 indices": lambda X: malformed.with_indices(
        ALL_LAYOUTS["unsorted CSR"](X), np.int64
    ),
    "CSR with duplicates": doubled,
    "CSR with room to spare": spacious,
    "CSR of long double": lambda X: sparse.csr_matrix(X.astype(np.longdouble)),
    "CSC": sparse.csc_array,
    "CSC of unaligned arrays": lambda X: csr_of(malformed.unaligned)(X.T).T,
    "rows of a larger CSR": lambda X: sparse.csr_matrix(np.vstack([X, X]))[: len(X)],
    "columns of a larger CSR": lambda X: sparse.csr_matrix(np.hstack([X, X]))[:, : X.shape[1]],
}
LAYOUTS = ALL_LAYOUTS | DENSE | CSR
# Validation makes one of these of any other layout.
KERNEL_LAYOUTS = ["dense", "dense float32", "CSR", "CSR float32", "CSR int64", "CSR float32 int64"]
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_kernel_layout = pytest.mark.parametrize("layout", KERNEL_LAYOUTS)


def is_sparse(layout):
    return "CSR" in layout or "CSC" in layout


def assert_same_fit(classifier, expected, exactly):
    assert classifier.n_updates_ == expected.n_updates_
    assert classifier.n_iter_ == expected.n_iter_
    assert classifier.converged_ == expected.converged_
    if hasattr(expected, "votes_"):
        assert_array_equal(classifier.votes_, expected.votes_)
        assert_array_equal(classifier.mistakes_, expected.mistakes_)
        assert_array_equal(classifier.support_, expected.support_)
    for key in ("coef_", "intercept_", "dual_coef_"):
        assert hasattr(classifier, key) == hasattr(expected, key)
        if hasattr(expected, key):
            one, other = getattr(classifier, key), getattr(expected, key)
            if exactly:
                assert_array_equal(one, other, err_msg=key)
            else:
                assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max(), err_msg=key)


@each_layout
def test_layout_changes_nothing_about_integers(layout):
    X, y = numbers("integers")
    for C, name in product(PENALTIES, FEW):
        container = sparse.csr_matrix if is_sparse(layout) and name in SHRINKING else np.asarray
        expected = plain_fit(name, "integers", container, C=C)
        classifier = fit(name, LAYOUTS[layout](X), y, C=C)
        # If sums are rounded, another order of the elements rounds differently.
        reordered = name in SHRINKING and ("zeros" in layout or "unsorted" in layout)
        assert_same_fit(classifier, expected, exactly=not reordered)
        assert_array_equal(classifier.predict(X), expected.predict(X))


@each_kernel_layout
def test_layout_changes_nothing_about_integers_for_the_hinge_loss(layout):
    X, y = numbers("integers")
    for stop in ("clean-pass", "certificate"):  # only accesses, and steps, which are no whole numbers
        expected = plain_fit("mpu", "integers", C=1.0, loss="hinge", stop=stop)
        classifier = fit("mpu", LAYOUTS[layout](X), y, C=1.0, loss="hinge", stop=stop)
        assert_same_fit(classifier, expected, exactly=stop == "clean-pass")


@each_kernel_layout
def test_layout_changes_real_results_by_rounding_at_most(layout):
    X, y = numbers("reals")
    for C, name in product([math.inf, 2.0], FEW):
        classifier = fit(name, LAYOUTS[layout](X), y, C=C, max_iter=8)
        assert_same_fit(classifier, plain_fit(name, "reals", C=C, max_iter=8), exactly=False)


@each_kernel_layout
def test_data_of_ones_give_the_same_fit_in_every_storage(layout):
    # CSR of ones is read without its values.
    X, y = numbers("ones")
    params = {"C": 0.5, "intercept_scaling": 1.0, "fit_intercept": True}
    for name in (*FEW, "perceptron"):
        classifier = fit(name, LAYOUTS[layout](X), y, **params)
        assert_same_fit(classifier, plain_fit(name, "ones", **params), exactly=name not in SHRINKING)


@pytest.mark.parametrize("position", [0, 17, -1])
def test_one_number_that_is_not_1_is_not_read_as_1(position):
    ones, y = numbers("ones")
    row, column = (places[position] for places in np.nonzero(ones))
    X = ones.copy()
    X[row, column] = -20  # the longest sample, so R and all thresholds depend on it
    expected = fit("margin-perceptron", X, y, C=0.5)
    assert expected.n_updates_ != fit("margin-perceptron", ones, y, C=0.5).n_updates_
    for layout in KERNEL_LAYOUTS[2:]:
        given = LAYOUTS[layout](X)
        assert_same_fit(fit("margin-perceptron", given, y, C=0.5), expected, exactly=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, bool])
def test_numbers_of_other_types_are_converted(dtype):
    X, y = numbers("ones" if dtype is bool else "integers")
    if np.issubdtype(dtype, np.unsignedinteger):
        X = np.abs(X)
    for name in FEW:
        expected = fit(name, X, y)
        for container in (np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array):
            classifier = fit(name, container(X.astype(dtype)), y)
            assert_same_fit(classifier, expected, exactly=name not in SHRINKING)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "view",
    [
        lambda series: np.lib.stride_tricks.sliding_window_view(series, 6),  # strides of one element
        lambda series: np.broadcast_to(series[:3], (5, 3)),
        lambda series: np.broadcast_to(series[:5, None], (5, 3)),
    ],
    ids=["windows", "one row", "one column"],
)
def test_rows_and_columns_may_share_memory(view, dtype):
    given = view(np.random.default_rng(0).integers(-3, 4, 50).astype(dtype))
    y = np.where(given[:, 0] + given[:, 2] > 0, 1, -1)
    y[:2] = 1, -1
    for name in FEW:
        expected = fit(name, np.array(given, dtype=float), y)
        assert_same_fit(fit(name, given, y), expected, exactly=True)
        assert_same_fit(fit(name, given[::-1][::-1], y), expected, exactly=True)


@pytest.mark.parametrize("shape", [(12, 1), (2, 9)])
def test_layout_changes_nothing_about_single_columns_and_pairs_of_rows(shape):
    X = np.random.default_rng(3).integers(-3, 4, shape).astype(float)
    X[X == 0] = 1
    y = np.where(np.arange(len(X)) % 2, 1, -1)
    expected = fit("pdm", X, y)
    for laid in LAYOUTS.values():
        assert_same_fit(fit("pdm", laid(X), y), expected, exactly=True)


@each_layout
def test_layout_of_new_data_changes_no_prediction(layout):
    X, y = numbers("integers")
    classifier = fit("pdm", X, np.where(X[:, 0] > 1, 2, y))
    scores = classifier.decision_function(LAYOUTS[layout](X))
    assert_allclose(scores, X @ classifier.coef_.T + classifier.intercept_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("change", [malformed.unaligned, malformed.swapped])
def test_labels_and_weights_at_any_address_are_read_right(change):
    X, y = numbers("integers")
    weight = 1.0 + np.arange(len(y)) % 3
    for name in ("auto", "perceptron"):
        expected = ALGORITHMS[name](random_state=0).fit(X, y, weight)
        classifier = ALGORITHMS[name](random_state=0).fit(X, change(y), change(weight))
        assert_array_equal(classifier.coef_, expected.coef_)


def parts(X):
    return [X.data, X.indices, X.indptr] if sparse.issparse(X) else [np.asarray(X)]


@each_layout
def test_fit_and_predict_leave_X_and_y_and_weights_as_they_are(layout):
    X, y = numbers("integers")
    y = np.where(X[:, 0] > 1, 2, y)
    weight = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    given = LAYOUTS[layout](X)
    before = [part.copy() for part in parts(given)]
    types = [(part.dtype, part.flags.writeable) for part in parts(given)]
    y_before, weight_before = y.copy(), weight.copy()
    for name, sample_weight in (*product(FEW, [weight]), ("auto", None)):
        classifier = ALGORITHMS[name](max_iter=3, C=1.0, random_state=0)
        classifier.fit(given, y, sample_weight).predict(given)
    for part, kept in zip(parts(given), before, strict=True):
        assert_array_equal(part, kept)
    assert [(part.dtype, part.flags.writeable) for part in parts(given)] == types
    assert_array_equal(y, y_before)
    assert_array_equal(weight, weight_before)
