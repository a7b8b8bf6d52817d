"""Chunks: what they may hold, rows of memory maps, and where they are no input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

import margins
from margins.data.chunks import Chunks, is_dask, is_in_parts


def test_chunks_are_functions_or_the_chunks_themselves():
    X, y = make_classification(20, random_state=0)
    chunks = Chunks([lambda: (X[:10], y[:10]), (X[10:], y[10:])])
    assert len(chunks) == 2
    assert chunks[0][0] is not X and (chunks[0][0] == X[:10]).all() and (chunks[1][1] == y[10:]).all()
    assert [len(labels) for _, labels in chunks] == [10, 10]


def test_there_must_be_chunks_that_can_be_read_again():
    with pytest.raises(ValueError, match="at least one chunk"):
        Chunks([])
    with pytest.raises(TypeError, match="items by index"):
        Chunks(iter([]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_rows_of_a_memory_map_are_released_and_read_again(tmp_path, mode, order):
    path = tmp_path / "X"
    written = np.memmap(path, dtype=np.float64, mode="w+", shape=(5000, 30), order=order)
    written[:] = np.random.default_rng(0).normal(size=written.shape)
    written.flush()
    X = np.memmap(path, dtype=np.float64, mode=mode, shape=(5000, 30), order=order)
    y = np.arange(5000)
    if mode == "c":
        X[:] = X + 1  # exists in memory alone
    expected = np.array(X)
    chunks = Chunks.of_rows(X, y, n_rows=700)
    assert len(chunks) == 8
    for _ in range(2):
        for index in range(len(chunks)):
            rows, labels = chunks[index]
            assert (rows == expected[labels]).all() and labels[0] == 700 * index
            del rows
            chunks.release(index)


def test_rows_hold_about_as_many_bytes_as_stated():
    X, y = np.zeros((3 << 20, 4)), np.zeros(3 << 20)
    assert len(Chunks.of_rows(X, y)) == 3
    assert len(Chunks.of_rows(X, y, y, n_rows=1 << 20)[0]) == 3


@pytest.mark.parametrize("n_rows", [-5, 0, 2.5, True, "all"])
def test_chunks_have_a_row_at_least(n_rows):
    with pytest.raises(ValueError, match=rf"n_rows of Chunks.of_rows must be None or .* Got {n_rows!r}"):
        Chunks.of_rows(np.zeros((10, 2)), np.zeros(10), n_rows=n_rows)


@pytest.mark.parametrize(
    ("X", "got"),
    [
        (np.zeros(10), r"shape \(10,\)"),
        ([1.0] * 10, r"shape \(10,\)"),
        (sparse.coo_array(np.ones((10, 2))), "a sparse matrix of format 'coo'"),
    ],
)
def test_of_rows_needs_an_array_of_two_dimensions(X, got):
    with pytest.raises(ValueError, match=f"X of Chunks.of_rows must be .* Got {got}"):
        Chunks.of_rows(X, np.zeros(10))


def test_rows_of_csr():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    rows, labels = Chunks.of_rows(sparse.csr_array(X), y, n_rows=4)[1]
    assert (rows.toarray() == X[4:8]).all() and labels.tolist() == [4, 5, 6, 7]


def test_a_sparse_matrix_in_a_file_of_anndata_is_read_by_rows(tmp_path):
    anndata = pytest.importorskip("anndata")
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(tmp_path / "cells.h5ad")
    stored = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r").X
    chunks = Chunks.of_rows(stored, y, n_rows=4)
    assert (chunks[1][0].toarray() == X[4:8]).all()
    margins.MarginClassifier().fit(chunks)
    with pytest.raises(ValueError, match=r"X of MarginClassifier must be in memory. Got CSRDataset"):
        margins.MarginClassifier().fit(stored, y)


@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_labels_and_weights_must_fit_the_rows(name):
    arguments = {"y": np.zeros(10), "sample_weight": np.ones(10), name: np.zeros(9)}
    with pytest.raises(ValueError, match=rf"{name} of Chunks.of_rows .* 10 rows of X. Got shape \(9,\)"):
        Chunks.of_rows(np.zeros((10, 2)), **arguments)


def test_dask_is_recognised_without_an_import():
    assert not is_dask(np.zeros(3)) and not is_in_parts([1, 2])
    assert is_in_parts(Chunks([(np.zeros((1, 1)), [0])]))
    collection = type("Array", (), {"__module__": "dask.array.core"})()
    assert is_dask(collection) and is_in_parts(collection)


def test_the_transform_of_chunks_is_checked_at_once():
    with pytest.raises(TypeError, match=r"transform of Chunks.map must be a function of X\. Got 3\."):
        Chunks.of_rows(np.zeros((4, 2)), np.arange(4) % 2).map(3)


def test_chunks_cannot_be_converted_to_an_array():
    chunks = Chunks.of_rows(np.zeros((4, 2)), np.arange(4) % 2)
    with pytest.raises(TypeError, match=r"partial_fit, chunk by chunk, and pass chunks\.map"):
        StandardScaler().fit(chunks)


def test_empty_chunks_have_no_scores():
    empty = Chunks([(np.zeros((0, 2)), np.zeros(0))])
    classifier = margins.MarginClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    with pytest.raises(ValueError, match="Got only empty chunks"):
        classifier.predict(empty)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_of_data_frames_keep_the_names_of_columns(library):
    frames = pytest.importorskip(library)
    X = np.random.default_rng(0).normal(size=(50, 2))
    frame = frames.DataFrame({"b": X[:, 0], "a": X[:, 1]})
    chunks = Chunks.of_rows(frame, X[:, 0] > 0, n_rows=20)
    assert len(chunks) == 3 and (np.asarray(chunks[2][0]) == X[40:]).all()
    classifier = margins.MarginClassifier().fit(chunks)
    assert classifier.feature_names_in_.tolist() == ["b", "a"]
    assert classifier.score(frame, X[:, 0] > 0) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["a", "b"]])


def test_repr_says_what_is_known_without_reading():
    X, y = np.zeros((50, 3)), np.arange(50)
    chunks = Chunks.of_rows(X, y, n_rows=20)
    assert repr(chunks) == "<Chunks: 3 chunks, 50 rows, 3 columns>"
    assert repr(chunks.map(np.sqrt)) == "<Chunks: 3 chunks, 50 rows>"
    assert repr(Chunks([lambda: 1 / 0])) == "<Chunks: 1 chunk, rows not counted>"


def test_a_path_is_no_matrix(tmp_path):
    classifier = margins.MarginClassifier()
    for path in ("big/*.parquet", tmp_path):
        with pytest.raises(ValueError, match="X of MarginClassifier must .* pass Chunks of"):
            classifier.fit(path)
