"""A matrix is its numbers: how they lie in memory changes no result, and X stays as it is."""

import dataclasses
import functools
import math
from itertools import product

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, LINEAR, NAMES, SUMS_OF_SAMPLES
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

# Multiply or divide by what is no power of 2: sums are rounded. `auto` runs by rules here.
SHRINKING = {name for name in NAMES if name != "auto" and name not in SUMS_OF_SAMPLES}
# Read out what is not the last sum of samples: a mean is rounded too.
NOT_THE_LAST = {"averaged-perceptron", "longest-survivor", "pocket"}
VOTING = {"voted-perceptron"}  # no coef_
PENALTIES = [math.inf, 0.5]  # 1 / (2 C) is an integer

# One that adds samples, one that shrinks, one whose model is a list of mistakes, and loops of their own.
FEW = sorted({"pdm", "mpcs", *VOTING, *LINEAR, "auto"})

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(name, X, y, **params):
    algorithm = ALGORITHMS[name]
    declared = {field.name for field in dataclasses.fields(algorithm)}
    if name == "pfm" and math.isinf(params.get("C", 1)):
        params.setdefault("gamma", 0.01)
    # Newton steps are no sums of whole numbers; their layouts are compared in test_newton.py.
    params = {"random_state": 0, "max_iter": 30, "eps": 0.125, "solver": "unlearning", **params}
    return algorithm(**{key: value for key, value in params.items() if key in declared}).fit(X, y)


@functools.cache
def plain_fit(name, kind, container=np.asarray, **params):
    """The fit that those to other layouts are compared with."""
    X, y = numbers(kind)
    return fit(name, container(X), y, **params)


def numbers(kind, m=40, d=7):
    """A problem of small integers, of half-way real numbers (exact in float32) or of ones."""
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


# -------------------------------------------------------------------------------------------- layouts


def memmap(folder, array, name="values"):
    path = folder / f"{name}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def within(X, index, dtype=float):
    """X as a view, by `index`, of a larger array full of other numbers."""
    larger = np.full((2 * len(X) + 3, 3 * X.shape[1] + 2), 77, dtype=dtype)
    view = larger[index][: len(X), : X.shape[1]]
    view[...] = X
    return view


def unaligned(X):
    buffer = bytearray(X.nbytes + 1)
    view = np.frombuffer(buffer, dtype=X.dtype, offset=1, count=X.size).reshape(X.shape)
    view[...] = X
    return view


def packed(X):
    """A field of records of 1 + 8 d bytes: strides are no multiples of the item size."""
    records = np.zeros(len(X), dtype=[("label", "i1"), ("row", "f8", (X.shape[1],))])
    records["row"] = X
    return records["row"]


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


DENSE = {
    "C order": lambda X, folder: X.copy(),
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "float32": lambda X, folder: X.astype(np.float32),
    "float32, Fortran order": lambda X, folder: np.asfortranarray(X, dtype=np.float32),
    "every second row": lambda X, folder: within(X, np.s_[::2]),
    "every third column": lambda X, folder: within(X, np.s_[:, ::3]),
    "block of a larger matrix": lambda X, folder: within(X, np.s_[3:, 2:]),
    "block of a larger transposed matrix": lambda X, folder: within(X.T, np.s_[3:, 2:]).T,
    "rows backwards": lambda X, folder: X[::-1].copy()[::-1],
    "columns backwards": lambda X, folder: X[:, ::-1].copy()[:, ::-1],
    "rows and columns backwards": lambda X, folder: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32, backwards": lambda X, folder: X.astype(np.float32)[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X, folder: frozen(X),
    "memory map": lambda X, folder: memmap(folder, X),
    "memory map of float32 in Fortran order": lambda X, folder: memmap(
        folder, np.asfortranarray(X, dtype=np.float32)
    ),
    "every second row of a memory map": lambda X, folder: memmap(folder, X.repeat(2, axis=0))[::2],
    "unaligned": lambda X, folder: unaligned(X),
    "field of packed records": lambda X, folder: packed(X),
    "big-endian": lambda X, folder: X.astype(">f8"),
    "long double": lambda X, folder: X.astype(np.longdouble),
    "objects": lambda X, folder: X.astype(object),
    "list of lists": lambda X, folder: X.tolist(),
}


def with_columns(X, dtype, container=sparse.csr_matrix):
    """CSR with indices of this dtype, even if a smaller one suffices."""
    X = container(X)
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X


def mapped_csr(X, folder, dtype=np.int32):
    X = with_columns(X, dtype)
    parts = {key: memmap(folder, getattr(X, key), key) for key in ("data", "indices", "indptr")}
    mapped = sparse.csr_matrix(X.shape)
    mapped.data, mapped.indices, mapped.indptr = parts["data"], parts["indices"], parts["indptr"]
    return mapped


def frozen_csr(X, folder):
    X = sparse.csr_matrix(X)
    X.data, X.indices, X.indptr = frozen(X.data), frozen(X.indices), frozen(X.indptr)
    return X


def unsorted(X, folder, dtype=np.int32):
    X = with_columns(X, dtype)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.data[start:stop] = X.data[start:stop][::-1]
        X.indices[start:stop] = X.indices[start:stop][::-1]
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    return X


def duplicated(X, folder):
    """Every element as the sum of three, of which the first are -1 and 2, dispersed over the row."""
    rows, columns = np.nonzero(X)
    parts = [np.full(len(rows), -1.0), np.full(len(rows), 2.0), X[rows, columns] - 1]
    order = np.argsort(np.tile(rows, 3), kind="stable")
    data, indices = np.concatenate(parts)[order], np.tile(columns, 3)[order]
    indptr = np.concatenate([[0], np.cumsum(3 * np.bincount(rows, minlength=len(X)))])
    X = sparse.csr_matrix((data, indices.astype(np.int32), indptr.astype(np.int32)), shape=X.shape)
    assert not X.has_canonical_format
    return X


def explicit_zeros(X, folder):
    """Every element stored, the zeros too."""
    columns = np.tile(np.arange(X.shape[1], dtype=np.int32), len(X))
    starts = np.arange(0, X.size + 1, X.shape[1], dtype=np.int32)
    X = sparse.csr_matrix((X.ravel(), columns, starts), shape=X.shape)
    assert X.nnz == X.shape[0] * X.shape[1]
    return X


def spacious(X, folder):
    """Arrays longer than what is stored, as some operations of SciPy leave them."""
    X = sparse.csr_matrix(X)
    X.data, X.indices = np.append(X.data, [9.0] * 5), np.append(X.indices, np.int32([0] * 5))
    return X


def strided(X, folder):
    X = sparse.csr_matrix(X)
    X.data, X.indices = X.data.repeat(2)[::2], X.indices.repeat(2)[::2]
    return X


CSR = {
    "CSR": lambda X, folder: sparse.csr_matrix(X),
    "CSR array": lambda X, folder: sparse.csr_array(X),
    "CSR of float32": lambda X, folder: sparse.csr_matrix(X.astype(np.float32)),
    "CSR with int64 indices": lambda X, folder: with_columns(X, np.int64),
    "CSR of float32 with int64 indices": lambda X, folder: with_columns(X.astype(np.float32), np.int64),
    "CSR array of float32 with int64 indices": lambda X, folder: with_columns(
        X.astype(np.float32), np.int64, sparse.csr_array
    ),
    "CSR of memory maps": mapped_csr,
    "CSR of memory maps with int64 indices": lambda X, folder: mapped_csr(X, folder, np.int64),
    "CSR of read-only arrays": frozen_csr,
    "CSR with unsorted indices": unsorted,
    "CSR with unsorted int64 indices": lambda X, folder: unsorted(X, folder, np.int64),
    "CSR with duplicates": duplicated,
    "CSR with explicit zeros": explicit_zeros,
    "CSR with room to spare": spacious,
    "CSR of strided arrays": strided,
    "CSR of long double": lambda X, folder: sparse.csr_matrix(X.astype(np.longdouble)),
    "rows of a larger CSR": lambda X, folder: sparse.csr_matrix(np.vstack([X, X]))[: len(X)],
    "columns of a larger CSR": lambda X, folder: sparse.csr_matrix(np.hstack([X, X]))[:, : X.shape[1]],
}
LAYOUTS = DENSE | CSR
# What the kernels distinguish; validation makes one of these of any other layout.
KERNEL_LAYOUTS = ["C order", "float32", "CSR", "CSR of float32", "CSR with int64 indices"]
KERNEL_LAYOUTS += ["CSR array of float32 with int64 indices", "CSR with explicit zeros"]


def algorithms_for(layout):
    return NAMES if layout in KERNEL_LAYOUTS else FEW


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


# ----------------------------------------------------------------------------------- the same results


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_changes_nothing_about_integers(layout, tmp_path):
    X, y = numbers("integers")
    for C, name in product(PENALTIES, algorithms_for(layout)):
        container = np.asarray if layout in DENSE or name not in SHRINKING else sparse.csr_matrix
        expected = plain_fit(name, "integers", container, C=C)
        classifier = fit(name, LAYOUTS[layout](X, tmp_path), y, C=C)
        # Where sums are rounded, an order of its own may round its own way.
        own_order = name in SHRINKING and ("zeros" in layout or "unsorted" in layout)
        assert_same_fit(classifier, expected, exactly=not own_order)
        assert_array_equal(classifier.predict(X), expected.predict(X))


@pytest.mark.parametrize("layout", KERNEL_LAYOUTS)
def test_layout_changes_nothing_about_integers_for_the_hinge_loss(layout, tmp_path):
    X, y = numbers("integers")
    for stop in ("clean-pass", "certificate"):  # only accesses, and steps, which are no whole numbers
        expected = plain_fit("mpu", "integers", C=1.0, loss="hinge", stop=stop)
        classifier = fit("mpu", LAYOUTS[layout](X, tmp_path), y, C=1.0, loss="hinge", stop=stop)
        assert_same_fit(classifier, expected, exactly=stop == "clean-pass")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_changes_real_results_by_rounding_at_most(layout, tmp_path):
    X, y = numbers("reals")
    rounded = layout == "CSR with duplicates"
    if rounded:
        X = np.round(X * 64) / 64  # so that the sums of the duplicates are exact
    for C, name in product([math.inf, 2.0], NAMES if layout in ("float32", "CSR") else FEW):
        classifier = fit(name, LAYOUTS[layout](X, tmp_path), y, C=C, max_iter=8)
        if rounded:
            expected = fit(name, X, y, C=C, max_iter=8)
        else:
            expected = plain_fit(name, "reals", C=C, max_iter=8)
        assert_same_fit(classifier, expected, exactly=False)


@pytest.mark.parametrize("layout", [*CSR, "C order", "Fortran order", "float32"])
def test_data_of_ones_give_what_they_give_with_values(layout, tmp_path):
    # CSR of ones is read without its values.
    X, y = numbers("ones")
    labels = y[:, None] * np.append(X, np.ones((len(X), 1)), axis=1)
    params = {"C": 0.5, "intercept_scaling": 1.0, "fit_intercept": True}
    for name in NAMES:
        classifier = fit(name, LAYOUTS[layout](X, tmp_path), y, **params)
        assert_same_fit(classifier, plain_fit(name, "ones", **params), exactly=name not in SHRINKING)
        if name in VOTING | NOT_THE_LAST | {"second-order-perceptron"}:
            continue
        combination = classifier.dual_coef_[0] @ labels
        start = getattr(classifier, "theta_init_", 0.0)  # the bias begins with -start
        weights = np.append(classifier.coef_[0], classifier.intercept_[0] + start)
        scale = weights @ combination / (combination @ combination)
        assert_allclose(weights, scale * combination, atol=1e-9 * np.abs(weights).max())


@pytest.mark.parametrize("position", [0, 17, -1])
def test_one_number_that_is_not_1_is_not_read_as_1(position):
    ones, y = numbers("ones")
    rows, columns = np.nonzero(ones)
    X = ones.copy()
    X[
        rows[position], columns[position]
    ] = -20  # the longest sample, so R and all thresholds depend on it
    expected = fit("margin-perceptron", X, y, C=0.5)
    assert expected.n_updates_ != fit("margin-perceptron", ones, y, C=0.5).n_updates_
    for dtype in (np.float64, np.float32):
        for index in (np.int32, np.int64):
            given = with_columns(X.astype(dtype), index)
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
def test_rows_may_overlap(dtype):
    # Windows over a series: both strides are one element.
    series = np.random.default_rng(0).integers(-3, 4, 50).astype(dtype)
    windows = np.lib.stride_tricks.sliding_window_view(series, 6)
    y = np.where(windows[:, 0] + windows[:, 3] > 0, 1, -1)
    for name in FEW:
        expected = fit(name, windows.astype(float), y)
        assert_same_fit(fit(name, windows, y), expected, exactly=True)
        assert_same_fit(fit(name, windows[::-1][::-1], y), expected, exactly=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_or_columns_may_be_one_and_the_same(dtype):
    row = np.array([1, -2, 3], dtype=dtype)
    y = np.array([1, 1, 1, -1, 1])
    for given in (
        np.broadcast_to(row, (5, 3)),
        np.broadcast_to(np.arange(5, dtype=dtype)[:, None], (5, 3)),
    ):
        assert 0 in given.strides
        for name in FEW:
            assert_same_fit(
                fit(name, given, y), fit(name, np.array(given, dtype=float), y), exactly=True
            )


@pytest.mark.parametrize("shape", [(12, 1), (2, 9)])
def test_single_columns_and_pairs_of_rows_have_layouts_too(shape, tmp_path):
    X = np.random.default_rng(3).integers(-3, 4, shape).astype(float)
    X[X == 0] = 1
    y = np.where(np.arange(len(X)) % 2, 1, -1)
    for layout, laid in LAYOUTS.items():
        expected = fit("pdm", X, y)
        assert_same_fit(fit("pdm", laid(X, tmp_path), y), expected, exactly=True)
        assert layout


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_of_new_data_changes_no_prediction(layout, tmp_path):
    X, y = numbers("integers")
    y = np.where(X[:, 0] > 1, 2, y)
    classifier = fit("pdm", X, y)
    scores = classifier.decision_function(LAYOUTS[layout](X, tmp_path))
    assert_allclose(scores, X @ classifier.coef_.T + classifier.intercept_, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------------------------ X stays as it is


def parts(X):
    return [X.data, X.indices, X.indptr] if sparse.issparse(X) else [np.asarray(X)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_fit_and_predict_leave_X_and_y_and_weights_as_they_are(layout, n_classes, tmp_path):
    X, y = numbers("integers")
    if n_classes == 3:
        y = np.where(X[:, 0] > 1, 2, y)
    weight = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    given = LAYOUTS[layout](X, tmp_path)
    before = [part.copy() for part in parts(given)]
    types = [(part.dtype, part.flags.writeable) for part in parts(given)]
    y_before, weight_before = y.copy(), weight.copy()
    for name in algorithms_for(layout):
        for sample_weight in (None, weight):
            classifier = ALGORITHMS[name](max_iter=3, C=1.0, random_state=0)
            classifier.fit(given, y, sample_weight).predict(given)
    for part, kept in zip(parts(given), before, strict=True):
        assert_array_equal(part, kept)
    assert [(part.dtype, part.flags.writeable) for part in parts(given)] == types
    assert_array_equal(y, y_before)
    assert_array_equal(weight, weight_before)
