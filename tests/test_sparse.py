"""Rows: dot, axpy and squared norms are the same in every layout."""

import malformed
import numpy as np
import pytest
import sample_problems
from hypothesis import given
from properties import examples
from scipy import sparse

from margins._sparse import Rows
from margins.data._structure import all_ones
from margins.data.binary_data import rows_of
from margins.kernels import RBF


@examples(40)
@given(problem=sample_problems.problems(max_features=11) | sample_problems.problems(values=[0, 1]))
def test_rows_compute_what_numpy_computes(problem):
    X, _ = problem
    v = np.arange(1.0, X.shape[1] + 1)
    for layout, make in sample_problems.LAYOUTS.items():
        rows = rows_of(make(X))
        np.testing.assert_array_equal([rows.py_dot(k, v) for k in range(len(X))], X @ v, layout)
        np.testing.assert_array_equal(rows.sqnorms(), np.sum(X**2, axis=1), layout)
        for k in range(len(X)):
            w = v.copy()
            rows.py_axpy(k, -3.0, w)
            np.testing.assert_array_equal(w, v - 3 * X[k], layout)


def test_one_value_other_than_1_is_detected():
    values = np.ones(9)
    assert all_ones(values)
    assert all_ones(values.astype(np.float32))
    assert all_ones(values[:0].copy())
    values[8] = 2
    assert not all_ones(values)


def test_long_rows_use_every_accumulator():
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, (3, 103)).astype(float)
    v = rng.integers(-9, 10, 103).astype(float)
    for make in sample_problems.LAYOUTS.values():
        rows = rows_of(make(X))
        np.testing.assert_array_equal([rows.py_dot(k, v) for k in range(3)], X @ v)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64])
def test_rows_with_all_columns_are_read_as_dense_rows(value, index):
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 10, (6, 7)).astype(value)
    dense[1, 3] = dense[4, 0] = 0
    dense[5] = 0
    X = sparse.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    rows = rows_of(X)
    assert rows.n_dense_row == 7
    v = rng.standard_normal(7)
    # To the last bit, in the same order: another matrix, of one more column, has no whole rows.
    wider = rows_of(sparse.csr_array((X.data, X.indices, X.indptr), shape=(6, 8)))
    assert wider.n_dense_row == -1
    for k in range(6):
        assert rows.py_dot(k, v) == wider.py_dot(k, np.append(v, 99))
        w, w_wider = v.copy(), np.append(v, 99)
        rows.py_axpy(k, 0.1, w)
        wider.py_axpy(k, 0.1, w_wider)
        np.testing.assert_array_equal(w, w_wider[:-1])


def test_rows_with_all_columns_in_another_order_are_not_read_as_dense_rows():
    X = sparse.csr_array(np.arange(1.0, 10).reshape(3, 3))
    for flag in (True, False):
        X.indices[3:6] = [0, 2, 1]
        X.has_canonical_format = flag  # writing to `indices` does not update the flag
        rows = rows_of(X)
        assert rows.n_dense_row == -1
        assert rows.py_dot(1, np.array([1.0, 10, 100])) == 4 + 500 + 60


def test_elements_stored_twice_count_once():
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    rows = rows_of(X)
    np.testing.assert_array_equal(rows.sqnorms(), [9, 25])
    assert X.nnz == 3  # the caller's matrix is left as it was


def test_unsorted_columns_are_not_copied_or_taken_for_duplicates():
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 0, 1]), np.array([0, 2, 3])))
    rows = rows_of(X)
    np.testing.assert_array_equal(rows.sqnorms(), [5, 25])
    X.data *= 2
    assert rows.py_dot(1, np.ones(2)) == 10
    np.testing.assert_array_equal(X.indices, [1, 0, 1])
    X.indices[1] = 1
    unsorted_and_twice = sparse.csr_array((X.data, np.array([1, 0, 1]), np.array([0, 3, 3])), (2, 2))
    np.testing.assert_array_equal(rows_of(unsorted_and_twice).sqnorms(), [4**2 + 12**2, 0])


def test_dense_and_csr_arrays_are_not_copied():
    X = np.arange(12.0).reshape(3, 4)
    v = np.ones(4)
    for matrix in (X, X.T.copy().T, sparse.csr_array(X)):
        rows = rows_of(matrix)
        before = rows.py_dot(1, v)
        (matrix.data if sparse.issparse(matrix) else matrix)[...] *= 2
        assert rows.py_dot(1, v) == 2 * before


def test_a_vector_of_too_few_features_is_rejected():
    rows = rows_of(np.ones((2, 3)))
    for ask in (rows.products, lambda v: rows.py_dot(0, v), lambda v: rows.py_axpy(0, 1.0, v)):
        with pytest.raises(ValueError, match="of 3 features was expected. Got 2"):
            ask(np.ones(2))


def _csr():
    """Arguments of `Rows` for a CSR matrix of shape (3, 4)."""
    return {
        "values": np.arange(1.0, 6.0),
        "n_rows": 3,
        "n_features": 4,
        "columns": np.array([0, 3, 1, 2, 3], dtype=np.int32),
        "starts": np.array([0, 2, 2, 5], dtype=np.int32),
    }


def test_rows_of_arrays_that_fit_each_other_are_made():
    rows = Rows(**_csr())
    np.testing.assert_array_equal(rows.products(np.ones(4)), [3, 0, 12])
    assert Rows(**_csr() | {"values": None}).n_stored == 5
    assert Rows(np.ones(12), 3, 4, row_step=4).n_stored == 12
    assert Rows(np.ones(0), 0, 4, row_step=4).n_stored == 0
    assert Rows(None, 5, 5).n_rows == 5  # of a kernel


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_rows": 4}, "starts of Rows must be 5 numbers .* Got 4"),
        ({"n_rows": 2}, "starts of Rows must be 3 numbers .* Got 4"),
        ({"n_rows": -1}, r"shape of numbers >= 0. Got \(-1, 4\)"),
        ({"n_features": -1}, r"shape of numbers >= 0. Got \(3, -1\)"),
        ({"starts": np.array([0, 2, 1, 5], dtype=np.int32)}, "numbers >= 0 that do not decrease"),
        ({"starts": np.array([-1, 2, 2, 5], dtype=np.int32)}, "numbers >= 0 that do not decrease"),
        (
            {"starts": np.array([0, 2, 2, 6], dtype=np.int32)},
            "columns of Rows must reach to .* 6. Got 5",
        ),
        ({"starts": np.array([0, 2, 2, 5])}, "both be of int32 or both of int64. Got int32 and int64"),
        ({"starts": None}, "must both be arrays or both be None"),
        ({"values": np.ones(4)}, "values of Rows must reach to where starts ends, 5. Got 4"),
        ({"values": malformed.unaligned(np.ones(5))}, "values of Rows must be aligned"),
        (
            {"columns": malformed.unaligned(np.zeros(5, dtype=np.int32))},
            "columns of Rows must be aligned",
        ),
        (
            {"starts": malformed.unaligned(np.array([0, 2, 2, 5], "i4"))},
            "starts of Rows must be aligned",
        ),
    ],
)
def test_inconsistent_arrays_of_rows_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        Rows(**_csr() | change)


@pytest.mark.parametrize(
    ("size", "steps", "message"),
    [
        (11, (4, 1), "values of Rows must reach to the last element, 12. Got 11"),
        (11, (1, 3), "values of Rows must reach to the last element, 12. Got 11"),
        (12, (-4, 1), "Steps of Rows must be >= 0. Got -4 and 1"),
        (12, (4, -1), "Steps of Rows must be >= 0. Got 4 and -1"),
    ],
)
def test_dense_rows_beyond_their_values_are_rejected(size, steps, message):
    with pytest.raises(ValueError, match=message):
        Rows(np.ones(size), 3, 4, row_step=steps[0], column_step=steps[1])


@examples(30)
@given(problem=sample_problems.problems(max_features=11))
def test_a_part_of_rows_computes_what_copied_rows_compute(problem):
    for layout in sample_problems.LAYOUTS.values():
        assert_part_is_a_copy(layout, problem[0])


def assert_part_is_a_copy(layout, X):
    chosen = np.random.default_rng(len(X)).permutation(len(X))[: 1 + len(X) // 2]
    part, copied = rows_of(layout(X)).part(chosen), rows_of(layout(X[chosen]))
    v = np.arange(1.0, X.shape[1] + 1)
    assert (part.n_rows, part.n_features) == X[chosen].shape
    np.testing.assert_array_equal(part.products(v), X[chosen] @ v)
    np.testing.assert_array_equal(part.sqnorms(), copied.sqnorms())
    np.testing.assert_array_equal(part.pnorms(1.0), copied.pnorms(1.0))
    assert (part.n_stored, part.longest()) == (copied.n_stored, copied.longest())
    assert part.mean_nonzeros(99) == copied.mean_nonzeros(99)
    n_nonzero = np.count_nonzero(X[chosen])
    assert part.has_nonzeros(n_nonzero) and not part.has_nonzeros(n_nonzero + 1)
    for k in range(len(chosen)):
        w, expected = v.copy(), v.copy()
        part.py_axpy(k, -3.0, w)
        copied.py_axpy(k, -3.0, expected)
        np.testing.assert_array_equal(w, expected)
    nested = part.part(np.arange(len(chosen))[::-1].copy())
    np.testing.assert_array_equal(nested.products(v), part.products(v)[::-1])


def test_a_part_of_rows_is_of_rows_that_exist_and_are_stored():
    rows = rows_of(np.eye(3))
    with pytest.raises(ValueError, match=r"must be in \[0, 3\). Got 0 to 3"):
        rows.part(np.array([0, 3]))
    kernel = RBF(gamma=1.0).rows(np.eye(3), 1.0)
    with pytest.raises(ValueError, match="must be of a stored matrix"):
        kernel.part(np.array([0]))
