"""Samples in matrices: .npy, .npz, Matrix Market and .h5ad, whose labels may be in another file."""

import io
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.io import mmread

from margins.cli.errors import CommandError, unreadable
from margins.cli.files import contents_of
from margins.optional import require
from margins.readers.labels import check_present, labels_like, labels_to_train_on
from margins.readers.tables import located
from margins.readers.values import Distinct

ARRAY, ARRAYS, MATRIX_MARKET = b"\x93NUMPY", b"PK", b"%%MatrixMarket"  # the first bytes of files
KINDS = {"b": "boolean", **dict.fromkeys("iuf", "numbers")}


class Matrix(NamedTuple):
    """A matrix in a file, and its labels."""

    path: str
    X: Any  # ndarray or CSR array, shape (m, d)
    labels: Distinct | None

    def located(self, error):
        """Return the CommandError for a WrongValue, with its place."""
        return unreadable(f"{self.path}: row {error.row}: {error}")


def read_matrices(sources):
    """Return X and y of all rows of matrices, to train on."""
    matrices = [_matrix_of(source, needs_labels=True) for source in sources]
    first, *others = matrices
    for other in others:
        _check_width(other, first.X.shape[1], f"as {first.path}")
    y = labels_to_train_on([(lambda each=each: each, each.labels, each.X.shape[0]) for each in matrices])
    if not others:
        return first.X, y
    is_sparse = any(sparse.issparse(each.X) for each in matrices)
    parts = [each.X for each in matrices]
    return sparse.vstack(parts, format="csr") if is_sparse else np.concatenate(parts), y


def read_matrix(source, needs_labels, trained):
    """Return X of a matrix, with the features of a model, and y as the model predicts it, or None."""
    if trained.names is not None:
        raise CommandError(
            f"{source.path}: the model was trained on a table and finds its features by their names, "
            "which a matrix does not have. Give a table."
        )
    matrix = _matrix_of(source, needs_labels)
    _check_width(matrix, trained.n_features, "as the model")
    with located(matrix):
        return matrix.X, labels_like(matrix.labels, trained.classes) if needs_labels else None


def _check_width(matrix, n_columns, reason):
    if matrix.X.shape[1] != n_columns:
        raise unreadable(
            f"{matrix.path}: must have {n_columns} columns, {reason}. Got {matrix.X.shape[1]}."
        )


def _matrix_of(source, needs_labels):
    """Return the Matrix in a file."""
    source.check_options(needs_labels)
    path = source.path
    is_annotated = path.lower().endswith(".h5ad")
    anndata = require(f"{path}: reading it", "anndata") if is_annotated else None
    contents = b"" if is_annotated else contents_of(path)
    try:
        X, others = _of_anndata(anndata, path) if is_annotated else _of_contents(contents)
    except Exception as error:  # from damaged files, of many types
        raise unreadable(f"{path}: cannot be read as a matrix: {error}") from error
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise unreadable(f"{path}: must hold numbers, rows x columns. Got {X.dtype}, shape {X.shape}.")
    X = X.astype(np.float32) if X.dtype == np.float16 else X
    matrix = Matrix(path, X, _labels(source, others) if needs_labels else None)
    if needs_labels:
        if (n_labels := len(matrix.labels.codes)) != X.shape[0]:
            raise unreadable(f"{path}: must have {X.shape[0]} labels, one for each row. Got {n_labels}.")
        with located(matrix):
            check_present(matrix.labels, ("",))
    return matrix


def _of_contents(contents):
    """Return the matrix in the contents of a file, and its other arrays, by name."""
    file = io.BytesIO(contents)
    if contents.startswith(MATRIX_MARKET):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer SciPy asks for a type, which older has not
            return mmread(file), {}
    if contents.startswith(ARRAY):
        return np.load(file), {}
    if not contents.startswith(ARRAYS):
        raise ValueError("it is neither .npy, .npz, nor Matrix Market")
    arrays = dict(np.load(file))
    if "format" in arrays:
        return sparse.load_npz(io.BytesIO(contents)), {}
    if "X" not in arrays:
        raise ValueError(f"one of its arrays must be called X. Got {', '.join(arrays)}")
    return arrays.pop("X"), arrays


def _of_anndata(anndata, path):
    """Return X of an .h5ad file, and the columns of its observations, by name."""
    table = anndata.read_h5ad(path)
    return table.X, dict(table.obs.items())


def _labels(source, others):
    """Return the labels that --target names, an array in the file or another file (Distinct)."""
    target = source.target
    if target in others:
        values = np.asarray(others[target])
    elif others:
        available = ", ".join(map(repr, others))
        raise CommandError(f"{source.path}: there are no labels {target!r}. It has {available}.")
    else:
        contents = contents_of(target)
        try:
            is_array = contents.startswith(ARRAY)
            lines = contents.decode().splitlines() if not is_array else []
            values = np.load(io.BytesIO(contents)) if is_array else np.array(lines, dtype=str)
        except ValueError as error:
            raise unreadable(
                f"{target}: must be .npy or text, with one label per line: {error}"
            ) from error
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    kind, order = KINDS.get(values.dtype.kind, "text"), np.argsort(first)
    return Distinct(
        target, kind, distinct[order].tolist(), first[order], np.argsort(order)[codes.ravel()]
    )
