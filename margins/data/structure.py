"""Checks the structure of sparse matrices before anything reads them.

SciPy's routines and the compiled loops read and write at the indices that a matrix stores, without
checking them. A matrix that was changed after its construction, or read from a damaged file, may store
any indices.
"""

import numpy as np

from margins.data._structure import first_decrease, first_outside, is_sorted, scan
from margins.data.binary_data import is_sparse

# For each compressed format, the units of `indptr` and of `indices`.
COMPRESSED = {"csr": ("row", "column"), "csc": ("column", "row"), "bsr": ("block row", "block column")}
# SciPy adds the offset of a diagonal to the number of rows, in int32.
MAX_OFFSET = 2**30
# Attribute of a matrix that `sealed` sets.
SEAL = "_margins_sealed"


def checked(X, name):
    """Return a sparse matrix whose structure is valid."""
    if is_sealed(X):
        return X
    kind = getattr(X, "format", "sparse")
    name = f"{name}, {kind.upper()} of shape {X.shape},"
    if kind in COMPRESSED:
        return _checked_compressed(X, name)
    if kind == "coo":
        return _checked_coordinates(X, name)
    checks = {"dia": _check_diagonals, "lil": _check_lists, "dok": _check_keys}
    if kind in checks:
        checks[kind](X, name)
    return X


def checked_csr(X, name):
    """Return a sparse matrix as CSR, checked as by `checked` before and after the conversion."""
    X = checked(X, name)
    return X if X.format == "csr" else checked(X.tocsr(), name)


def sealed(part, whole):
    """Record that a part of a checked matrix is valid, as long as it has these index arrays."""
    if not is_sparse(part) or part.format != "csr":
        return part
    arrays = part.indices, part.indptr
    if not any(map(np.may_share_memory, arrays, (whole.indices, whole.indptr))):
        for array in arrays:
            array.flags.writeable = False
        setattr(part, SEAL, (part.shape, part.data, *arrays))
    return part


def is_sealed(X):
    """Return whether a matrix still has its shape and arrays from `sealed`, read-only."""
    seal = getattr(X, SEAL, None)
    return (
        seal is not None
        and seal[0] == X.shape
        and all(one is other for one, other in zip(seal[1:], (X.data, X.indices, X.indptr), strict=True))
        and not (X.indices.flags.writeable or X.indptr.flags.writeable)
    )


def _checked_compressed(X, name):
    is_bsr = X.format == "bsr"
    original = X.data, X.indices, X.indptr
    data = _array(X.data, "data", name, n_dimensions=3 if is_bsr else 1)
    indices, indptr = (_indices(getattr(X, part), part, name) for part in ("indices", "indptr"))
    major, minor = COMPRESSED[X.format]
    n_major, n_minor = X.shape if X.ndim == 2 else (1, *X.shape)
    if X.format == "csc":
        n_major, n_minor = n_minor, n_major
    if is_bsr:
        block = data.shape[1:]
        if 0 in block or n_major % block[0] or n_minor % block[1]:
            raise ValueError(
                f"{name} must have blocks that divide its shape evenly. Got blocks of {block}."
            )
        n_major, n_minor = n_major // block[0], n_minor // block[1]
    if len(indptr) != n_major + 1:
        raise ValueError(f"{name} must have an indptr of {n_major + 1} numbers. Got {len(indptr)}.")
    if indptr[0] != 0:
        raise ValueError(f"{name} must have an indptr that starts with 0. Got {indptr[0]}.")
    k = first_decrease(indptr)
    if k >= 0:
        raise ValueError(
            f"{name} must have an indptr that does not decrease. Got {major} {k} from element "
            f"{indptr[k]} to element {indptr[k + 1]}."
        )
    for part, array in (("indices", indices), ("data", data)):
        if len(array) < indptr[-1]:
            k = int(np.searchsorted(indptr[1:], len(array), side="right"))
            raise ValueError(
                f"{name} must have at least {indptr[-1]} elements in {part}, the end of indptr. "
                f"Got {len(array)}: {major} {k} is not complete."
            )
    if len(indices) != len(data):
        raise ValueError(
            f"{name} must have as many elements in data as in indices, {len(indices)}. Got {len(data)}."
        )
    outside, is_canonical = scan(indptr, indices, n_minor)
    if outside >= 0:
        k = int(np.searchsorted(indptr, outside, side="right")) - 1
        raise ValueError(
            f"{name} must hold {minor}s in [0, {n_minor}). Got {minor} {indices[outside]} in {major} "
            f"{k}, element {outside} of indices."
        )
    if data is not original[0] or indices is not original[1] or indptr is not original[2]:
        X = _container(X)((data, indices, indptr), shape=X.shape)
    if X.format == "csr":  # the flags may describe earlier contents of the arrays
        if is_canonical or X.has_sorted_indices:
            X.has_sorted_indices = is_canonical or is_sorted(indptr, indices)
        X.has_canonical_format = is_canonical
    return X


def _checked_coordinates(X, name):
    original = getattr(X, "coords", None)
    if original is None or X.ndim == 2:  # SciPy before 1.13 has no coords
        original = X.row, X.col
    axes = ("row", "column") if len(original) == 2 else [f"index {k}" for k in range(len(original))]
    data = _array(X.data, "data", name)
    coordinates = tuple(
        _indices(array, f"{axis} coordinates", name) for array, axis in zip(original, axes, strict=True)
    )
    if len(coordinates) != len(X.shape):
        raise ValueError(f"{name} must have {len(X.shape)} coordinates. Got {len(coordinates)}.")
    for array, axis, size in zip(coordinates, axes, X.shape, strict=True):
        if len(array) != len(data):
            raise ValueError(
                f"{name} must have as many {axis} coordinates as data, {len(data)}. Got {len(array)}."
            )
        outside = first_outside(array, size)
        if outside >= 0:
            pairs = zip(axes, coordinates, strict=True)
            place = ", ".join(f"{label} {values[outside]}" for label, values in pairs)
            raise ValueError(
                f"{name} must hold {axis}s in [0, {size}). Got {place}, element {outside} of data."
            )
    if data is X.data and all(one is other for one, other in zip(coordinates, original, strict=True)):
        return X
    return _container(X)((data, coordinates), shape=X.shape)


def _check_diagonals(X, name):
    data = _array(X.data, "data", name, n_dimensions=2)
    offsets = _indices(X.offsets, "offsets", name)
    if len(offsets) != len(data):
        raise ValueError(
            f"{name} must have {len(data)} offsets, one for each row of data. Got {len(offsets)}."
        )
    outside = np.flatnonzero((offsets < -MAX_OFFSET) | (offsets > MAX_OFFSET))
    if len(outside):
        raise ValueError(
            f"{name} must have offsets in [{-MAX_OFFSET}, {MAX_OFFSET}]. Got {offsets[outside[0]]}."
        )


def _check_lists(X, name):
    m, d = X.shape
    for part, lists in (("rows", X.rows), ("data", X.data)):
        if len(lists) != m:
            raise ValueError(f"{name} must have {m} lists in {part}. Got {len(lists)}.")
    for k, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            raise ValueError(
                f"{name} must have as many columns as numbers in every row. Got {len(columns)} and "
                f"{len(values)} in row {k}."
            )
        for column in columns:
            if not 0 <= column < d:
                raise ValueError(
                    f"{name} must hold columns in [0, {d}). Got column {column} in row {k}."
                )


def _check_keys(X, name):
    for key, _ in X.items():
        key = key if isinstance(key, tuple) else (key,)
        for index, size in zip(key, X.shape, strict=True):
            if not 0 <= index < size:
                raise ValueError(f"{name} must hold elements within its shape. Got element {key}.")


def _array(array, part, name, n_dimensions=1):
    """Return an array, or a contiguous, aligned and native copy of it that compiled loops can read."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} must have an array {part}. Got {type(array).__name__}.")
    if array.ndim != n_dimensions:
        raise ValueError(
            f"{name} must have an array {part} of {n_dimensions} dimension(s). Got shape {array.shape}."
        )
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def _indices(array, part, name):
    """Return such an array of int32 or int64."""
    array = _array(array, part, name)
    if array.dtype == np.int32 or array.dtype == np.int64:
        return array
    if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64):
        raise ValueError(f"{name} must have {part} of int32 or int64. Got {array.dtype}.")
    return array.astype(np.int64)


def _container(X):
    from scipy import sparse

    return getattr(sparse, f"{X.format}_{'array' if isinstance(X, sparse.sparray) else 'matrix'}")
