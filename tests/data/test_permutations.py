"""Orders of large data: permutations that keep chunks of rows within reach of each other."""

from dataclasses import replace
from functools import partial

import numpy as np
import oracles
import pytest
from problems import integers
from sample_problems import ALL_LAYOUTS
from scipy import sparse

import margins
from margins.data import permutations
from margins.data.binary_data import rows_of
from margins.data.permutations import Orders, in_blocks, rows_per_chunk, spread
from margins.solvers import driver

TILE = permutations.PERMUTATION.block_samples


@pytest.mark.parametrize("n", [1, 7, TILE - 1, TILE, TILE + 1, 3 * TILE, 5 * TILE + 321])
def test_every_sample_comes_once(n):
    for chunk in (2, 7, 64):
        order = in_blocks(np.random.default_rng(0), n, chunk)
        assert order.dtype == np.int32
        assert order.flags.c_contiguous
        np.testing.assert_array_equal(np.sort(order), np.arange(n), err_msg=f"chunks of {chunk}")


def test_a_block_holds_chunks_of_all_parts_in_random_order():
    n, chunk = 16 * TILE, 64
    order = in_blocks(np.random.default_rng(0), n, chunk)
    for tile in order.reshape(-1, TILE):
        chunks, counts = np.unique(tile // chunk, return_counts=True)
        assert set(counts) == {chunk}
        assert chunks[0] < n // chunk // 8
        assert chunks[-1] > n // chunk * 7 // 8
        assert np.mean(np.diff(tile // chunk) == 0) < 0.1  # neighbours are rarely of one chunk


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
def test_fast_permutations_match_the_oracle(n):
    generator, other = (np.random.default_rng(5) for _ in range(2))
    order, expected = (np.arange(n, dtype=np.int32) for _ in range(2))
    for _ in range(3):
        permutations.mix(generator, order)
        expected = oracles.mixed(expected, other.bit_generator.random_raw())
        np.testing.assert_array_equal(order, expected)


@pytest.mark.parametrize("size", [1000, 2999, TILE, 2 * TILE + 99, 5 * TILE + 7])
def test_some_samples_come_in_blocks(size):
    n, ends = 5 * TILE + 7, 0
    for seed in range(60):
        order = in_blocks(np.random.default_rng(seed), n, 64, size)
        assert len(order) == size == len(np.unique(order))
        assert order.min() >= 0
        assert order.max() < n
        ends += order.max() >= n - 7  # of the chunk at the end of the file, which is shorter
    assert ends > 0


@pytest.mark.parametrize(("n", "size"), [(1, 1), (10, 10), (1000, 250), (1797, 1000), (100_003, 25_000)])
def test_subsamples_are_spread_over_all_samples(n, size):
    order = spread(np.random.default_rng(0), n, size)
    assert order.dtype == np.int32
    assert len(order) == size
    ordered = np.sort(order)
    # One of each part.
    assert np.all(np.arange(size) * n // size <= ordered)
    assert np.all(ordered <= np.minimum((np.arange(size) + 1) * n / size, n - 1))
    assert size < 20 or np.any(order != ordered)


def test_orders_differ():
    generator = np.random.default_rng(0)
    first, second = (in_blocks(generator, 4 * TILE, 64) for _ in range(2))
    assert np.mean(first == second) < 0.01


def large_from(n_nonzeros, **params):
    """The tuning by which data with so many non-zeros go in blocks."""
    return replace(permutations.PERMUTATION, min_bytes=12 * n_nonzeros, **params)


def permute_in_blocks(monkeypatch, n_nonzeros):
    """Data with so many non-zeros go in blocks in all runs."""
    tuning = large_from(n_nonzeros)
    monkeypatch.setattr(driver, "rows_per_chunk", partial(rows_per_chunk, tuning=tuning))


def test_only_large_data_of_short_rows_go_in_blocks():
    X = np.ones((1000, 4))
    assert rows_per_chunk(rows_of(X)) == 1
    tuning = large_from(n_nonzeros=4000)
    assert rows_per_chunk(rows_of(X), tuning) == tuning.chunk_bytes // 48
    assert rows_per_chunk(rows_of(X[:-1]), tuning) == 1
    assert rows_per_chunk(rows_of(np.ones((4, 1 << 14))), tuning) == 1
    assert rows_per_chunk(rows_of(np.ones((1 << 16, 1))), tuning) == TILE // 16


def test_non_zeros_are_counted_in_a_part_of_the_rows():
    X = np.ones((1000, 4))
    X[::2, 1:] = 0  # 2.5 non-zeros a row
    rows = rows_of(sparse.csr_array(X))
    assert rows.mean_nonzeros(1000) == rows.mean_nonzeros(5000) == 2.5
    assert rows.mean_nonzeros(1) == 1  # of the first row
    assert rows_of(np.empty((0, 4))).mean_nonzeros(10) == 0
    X[1:] = 0
    assert rows_per_chunk(rows_of(X), large_from(n_nonzeros=1000, sampled_rows=1)) > 1
    assert rows_per_chunk(rows_of(X), large_from(n_nonzeros=1000)) == 1


@pytest.mark.parametrize("sampled_rows", [100, 10**6])
def test_orders_do_not_depend_on_storage(sampled_rows):
    X, _ = integers(m=500, d=7)
    tuning = large_from(n_nonzeros=100, sampled_rows=sampled_rows)
    expected = rows_per_chunk(rows_of(X), tuning)
    assert 1 < expected < TILE // 16
    for layout, stored in ALL_LAYOUTS.items():
        rows = rows_of(stored(X))
        assert rows.mean_nonzeros(500) == np.count_nonzero(X) / 500, layout
        assert rows_per_chunk(rows, tuning) == expected, layout


@pytest.mark.parametrize("chunk", [1, 7])
def test_an_order_of_some_samples_holds_each_once(chunk):
    of_a_run = Orders(300, seed=0, proven=True, rows_per_chunk=chunk)
    some = np.sort(np.random.default_rng(0).permutation(300)[:100]).astype(np.int32)
    first, second = of_a_run.of(some), of_a_run.of(some)
    for order in first, second:
        np.testing.assert_array_equal(np.sort(order), some)
        assert not np.array_equal(order, some)
    assert not np.array_equal(first, second)


def test_subsamples_are_from_all_parts_of_the_data():
    sample = Orders(1000, seed=0, proven=True).sample(100)
    assert sample.dtype == np.int32
    np.testing.assert_array_equal(sample, np.unique(sample))
    assert 90 <= len(sample) <= 100
    assert np.all(np.diff(sample) <= 30)  # few neighbouring parts share a sample
    assert sample[0] <= 10
    assert sample[-1] >= 980


@pytest.mark.parametrize("shuffle", ["epochs", "once", "never", "draws"])
@pytest.mark.parametrize("n_held_out", [0, 20])
def test_orders_change_as_shuffle_requires(shuffle, n_held_out):
    of_a_run = Orders(100, seed=0, proven=False)
    of_a_run.shuffle, of_a_run.n_held_out = shuffle, n_held_out
    first, second = of_a_run.next().copy(), of_a_run.next().copy()
    assert np.array_equal(first, second) is (shuffle in ("once", "never"))
    if shuffle == "draws":
        assert len(np.unique(first)) < len(first) == 100
        return
    everyone = np.concatenate([of_a_run.held_out, second])
    np.testing.assert_array_equal(np.sort(everyone), np.arange(100))
    assert np.array_equal(everyone, np.arange(100)) is (shuffle == "never")


def fit(name, **parameters):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(3000, 3))
    y = X[:, 0] + 0.3 * generator.normal(size=3000) > 0
    return margins.get(name)(random_state=0, **parameters).fit(X, y)


def test_only_algorithms_with_a_proof_go_in_blocks(monkeypatch):
    params = {"pa": {"max_iter": 3}, "pam": {"max_iter": 3, "shuffle": "epochs"}, "mpu": {}}
    before = {name: fit(name, **each) for name, each in params.items()}
    permute_in_blocks(monkeypatch, n_nonzeros=0)
    after = {name: fit(name, **each) for name, each in params.items()}
    for name in ("pa", "pam"):
        np.testing.assert_array_equal(after[name].coef_, before[name].coef_)
    assert after["mpu"].certificates_[0].fraction >= 0.99
    assert after["mpu"].n_updates_ != before["mpu"].n_updates_
