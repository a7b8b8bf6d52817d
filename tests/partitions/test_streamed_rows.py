"""Rows of which some are in memory: what the kernels read, and the copies of active sets."""

import numpy as np
import pytest
from partitioned_problems import chunks_of
from problems import integers
from sample_problems import ALL_LAYOUTS, doubled
from scipy import sparse

from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, rows_of
from margins.losses._accurate import scores
from margins.partitions._held_rows import HeldRows
from margins.partitions.executors import ChunkExecutor
from margins.partitions.streamed import ActiveRows, scan

X, Y = integers(m=40, d=5)
each_layout = pytest.mark.parametrize("layout", ALL_LAYOUTS)


def scanned(matrix, n_chunks=4, weight=None, y=Y):
    return scan(ChunkExecutor(chunks_of(matrix, y, n_chunks, weight), 1), "fit")


def dots(rows, v, numbers):
    return np.array([rows.py_dot(int(k), v) for k in numbers])


@each_layout
def test_rows_are_held_under_their_numbers_and_others_read_as_zero(layout):
    held, v = HeldRows(40, 5, 200), np.arange(1.0, 6.0)
    assert (dots(held, v, range(40)) == 0).all()
    for begin in (30, 0):
        part = rows_of(ALL_LAYOUTS[layout](X[begin : begin + 10]))
        held.hold(part, slice(begin, begin + 10))
        assert (dots(held, v, range(begin, begin + 10)) == X[begin : begin + 10] @ v).all()
    numbers, places = np.array([35, 2, 20], np.int32), np.array([7, 0, 9])
    held.hold(part, numbers, places)
    assert (dots(held, v, numbers) == X[places] @ v).all()
    held.release()
    assert (dots(held, v, range(40)) == 0).all()


def test_the_longest_sample_may_be_in_any_chunk():
    sqnorms = (X.astype(float) ** 2).sum(axis=1)
    for n_chunks in (1, 3, 40):
        assert scanned(X, n_chunks).scanned.max_sqnorm == sqnorms.max() > sqnorms.min()


@pytest.mark.parametrize("n_chunks", [1, 3, 40])
@each_layout
def test_sums_over_all_rows_equal_sums_over_the_matrix(layout, n_chunks):
    matrix = ALL_LAYOUTS[layout](X)
    streamed = scanned(matrix, n_chunks).X
    rows, direct, v = streamed.rows(), rows_of(matrix), np.arange(1.0, 6.0)
    assert streamed.shape == (40, 5)
    assert (rows.products(v) == direct.products(v)).all()
    assert (rows.sqnorms() == direct.sqnorms()).all()
    assert rows.n_stored == direct.n_stored and rows.longest() == direct.longest()
    for found, expected in zip(scores(rows, v, 0.1), scores(direct, v, 0.1), strict=True):
        assert (found == expected).all()
    weights = []
    for each in (rows, direct):
        data = make_binary_data(each, direct.sqnorms() + 1, Y > 0, 1.0, 0.0, np.inf)
        weights.append(WeightVector(5, 40))
        weights[-1].assign(data, np.arange(40.0))
        assert (weights[-1].products(data) == weights[0].products(data)).all()
    assert (weights[0].weights == weights[1].weights).all()


def test_samples_of_weight_zero_are_left_out():
    kept = np.array([0, 3, 9, 10, 25, 39])
    streamed = scanned(X).X[kept]
    v = np.arange(1.0, 6.0)
    assert streamed.shape == (6, 5) and len(streamed.parts) == 4
    assert (streamed.rows().products(v) == X[kept] @ v).all()
    again = streamed[np.array([1, 5])]
    assert (again.rows().products(v) == X[[3, 39]] @ v).all()
    assert (again.sqnorms() == np.square(X[[3, 39]]).sum(axis=1)).all()


@each_layout
def test_copies_are_held_in_place_of_their_partitions(layout):
    streamed = scanned(ALL_LAYOUTS[layout](X)).X
    rows, v = streamed.rows(), np.arange(1.0, 6.0)
    copies = rows.copies
    for part in streamed.parts[::-1]:
        with rows.reading(part) as matrix:
            copies.add(matrix, part, np.array([part.end - 1, part.begin], np.int32))
    assert copies.numbers().tolist() == [39, 30, 29, 20, 19, 10, 9, 0]
    with rows.holding_copies():
        assert (dots(rows, v, copies.numbers()) == X[copies.numbers()] @ v).all()
    assert (dots(rows, v, range(40)) == 0).all()


def test_copies_of_rows_that_store_elements_twice_have_their_squared_norms():
    streamed = scanned(doubled(X)).X
    rows = streamed.rows()
    for part in streamed.parts:
        with rows.reading(part) as matrix:
            rows.copies.add(matrix, part, np.arange(part.begin, part.end, dtype=np.int32))
    assert (rows.copies.rows().sqnorms() == np.square(X).sum(axis=1)).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_copies_end_at_the_limit(kind):
    streamed = scanned(kind(X)).X
    size = 5 * 8 if kind is np.asarray else 12
    rows, copies = streamed.rows(), ActiveRows(streamed, max_bytes=7 * size)
    for part in streamed.parts:
        with rows.reading(part) as matrix:
            copies.add(matrix, part, np.arange(part.begin, part.end, dtype=np.int32))
    stored = 5 * np.arange(1, 41) if kind is np.asarray else np.cumsum((X != 0).sum(axis=1))
    n = int(np.searchsorted(stored, 35 if kind is np.asarray else 7, side="right"))
    assert 0 < len(copies) == n < 40
    assert copies.numbers().tolist() == list(range(n))
    assert copies.left_out().tolist() == list(range(n, 40))
    v = np.arange(1.0, 6.0)
    assert (copies.rows().products(v) == X[:n] @ v).all()


def test_partitions_of_several_kinds_share_an_active_set():
    parts = [X[:10], sparse.csr_array(X[10:20].astype(np.float32)), np.asfortranarray(X[20:30]), X[30:]]

    class Parts:
        n_partitions = 4

        def read(self, index, name, rows_only=False):
            return parts[index], Y[10 * index : 10 * index + 10], None

        def release(self, index):
            pass

    streamed = scan(Parts(), "fit").X
    assert streamed.storage.is_sparse and streamed.storage.dtype == np.float64
    rows, v = streamed.rows(), np.arange(1.0, 6.0)
    copies = rows.copies
    assert (rows.products(v) == X @ v).all()
    for part in streamed.parts:
        with rows.reading(part) as matrix:
            copies.add(matrix, part, np.arange(part.begin, part.end, 2, dtype=np.int32))
    assert (copies.rows().products(v) == X[::2] @ v).all()
