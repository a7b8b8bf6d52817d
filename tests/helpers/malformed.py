"""Sparse matrices whose arrays do not fit each other, for tests and for `scripts/robustness`."""

import numpy as np
from scipy import sparse


def _writing(part, position, number):
    """A fault: one number of one array is another."""

    def damage(X):
        array = getattr(X, part).copy()
        array[position] = number(X, array) if callable(number) else number
        setattr(X, part, array)

    return damage


def _shortened(part, n):
    def damage(X):
        setattr(X, part, getattr(X, part)[:-n].copy())

    return damage


def _lengthened(X):
    X.indptr = np.append(X.indptr, X.indptr[-1:])


def _minor(X):
    return X.shape[0 if X.format == "csc" else 1]


# Of CSR and CSC, whose roles of rows and columns are exchanged: (the damage, what the error says).
COMPRESSED = {
    "an index just beyond": (
        _writing("indices", 5, lambda X, _: _minor(X)),
        r"must hold {minor}s in \[0, ",
    ),
    "an index far beyond": (
        _writing("indices", -1, 10**6),
        r"Got {minor} 1000000 in {major} \d+, element ",
    ),
    "the largest index": (
        _writing("indices", 0, lambda X, array: np.iinfo(array.dtype).max),
        r"in {major} 0, element 0 of indices",
    ),
    "a negative index": (_writing("indices", 7, -1), r"Got {minor} -1 in {major} \d+, element 7 of"),
    "the least index": (
        _writing("indices", 3, lambda X, array: np.iinfo(array.dtype).min),
        r"must hold {minor}s in \[0, ",
    ),
    "indptr beyond the data": (
        _writing("indptr", -1, 10**6),
        r"at least 1000000 elements in indices, the end of indptr. Got \d+: {major} \d+ is not complete",
    ),
    "indptr beyond the data and back": (
        _writing("indptr", 2, 10**6),
        "indptr that does not decrease. Got {major} 2 from element 1000000 to element",
    ),
    "decreasing indptr": (
        _writing("indptr", 3, lambda X, array: array[1] - 1),
        "does not decrease. Got {major} 2 from element",
    ),
    "negative indptr": (_writing("indptr", 2, -5), "Got {major} 1 from element .* to element -5"),
    "the least indptr": (
        _writing("indptr", 2, lambda X, array: np.iinfo(array.dtype).min),
        "indptr that does not decrease",
    ),
    "negative first indptr": (_writing("indptr", 0, -1), "indptr that starts with 0. Got -1"),
    "positive first indptr": (_writing("indptr", 0, 1), "indptr that starts with 0. Got 1"),
    "data short": (_shortened("data", 9), "elements in data, the end of indptr. Got"),
    "indices short": (_shortened("indices", 9), "elements in indices, the end of indptr. Got"),
    "indptr short": (_shortened("indptr", 1), r"must have an indptr of \d+ numbers. Got"),
    "indptr long": (_lengthened, r"must have an indptr of \d+ numbers. Got"),
    "no indptr": (lambda X: setattr(X, "indptr", X.indptr[:0]), r"indptr of \d+ numbers. Got 0"),
    "indices of float": (
        lambda X: setattr(X, "indices", X.indices.astype(float)),
        "indices of int32 or int64. Got float64",
    ),
    "indptr of uint64": (
        lambda X: setattr(X, "indptr", X.indptr.astype(np.uint64)),
        "indptr of int32 or int64. Got uint64",
    ),
    "data of two dimensions": (
        lambda X: setattr(X, "data", np.stack([X.data, X.data])),
        r"an array data of 1 dimension\(s\). Got shape",
    ),
    "data that are no array": (
        lambda X: setattr(X, "data", X.data.tolist()),
        "must have an array data. Got list",
    ),
    "more data than indices": (
        lambda X: setattr(X, "data", np.append(X.data, 1.0)),
        "as many elements in data as in indices",
    ),
}
WORDS = {"csr": ("row", "column"), "csc": ("column", "row")}


def message_of(kind, fault):
    """The regular expression that the error of a damaged CSR or CSC matrix has."""
    major, minor = WORDS[kind]
    return COMPRESSED[fault][1].replace("{major}", major).replace("{minor}", minor)


def with_indices(X, dtype):
    """The same matrix with `indices` and `indptr` of another dtype."""
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X


def memory_mapped(X, folder):
    """A matrix, changed in place: all its arrays are memory-mapped, read-only."""
    for part in ("data", "indices", "indptr"):
        path = folder / f"{part}.npy"
        np.save(path, getattr(X, part))
        setattr(X, part, np.load(path, mmap_mode="r"))
    return X


def unaligned(array):
    """A copy of an array at an odd address."""
    buffer = np.zeros(array.nbytes + 1, dtype=np.uint8)
    offset = 1 - buffer.ctypes.data % 2
    copy = buffer[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned or array.size == 0
    return copy


def swapped(array):
    """A copy of an array in the other byte order."""
    return array.astype(array.dtype.newbyteorder())


def damaged(X, fault):
    """A copy of a CSR or CSC matrix with a fault of `COMPRESSED`."""
    X = X.copy()
    COMPRESSED[fault][0](X)
    return X


def _damaged_coo(part, number):
    def make(X):
        X = sparse.coo_matrix(X)
        array = getattr(X, part).copy()
        array[4] = number
        setattr(X, part, array)
        return X

    return make


def _coo_short(X):
    X = sparse.coo_matrix(X)
    X.data = X.data[:-3]
    return X


def _bsr(X, **parts):
    X = sparse.bsr_array(X, blocksize=(2, 1))
    for part, change in parts.items():
        setattr(X, part, change(getattr(X, part).copy()))
    return X


def _with(position, number):
    def change(array):
        array[position] = number
        return array

    return change


def _lil_column(X):
    X = sparse.lil_array(X)
    X.rows[5][0] = 10**6
    return X


def _lil_short(X):
    X = sparse.lil_array(X)
    X.rows[5].pop()
    return X


def _dok(X):
    X = sparse.dok_array(X)
    elements = getattr(X, "_dict", X)  # in SciPy 1.11 it stored its elements itself
    dict.__setitem__(elements, (3, 10**6), 1.0)
    return X


def _dia(offsets):
    def make(X):
        X = sparse.dia_array(X)
        X.offsets = offsets(X.offsets)
        return X

    return make


# Of the other formats, given a dense array of an even number of rows: (the matrix, what the error says).
OTHERS = {
    "COO, row beyond": (
        _damaged_coo("row", 10**6),
        "must hold rows in .* Got row 1000000, column .*element 4",
    ),
    "COO, negative column": (
        _damaged_coo("col", -1),
        "must hold columns in .* column -1, element 4 of data",
    ),
    "COO, data short": (_coo_short, "as many row coordinates as data"),
    "BSR, column beyond": (
        lambda X: _bsr(X, indices=_with(2, 10**6)),
        "must hold block columns in .* Got block column 1000000 in block row",
    ),
    "BSR, decreasing": (
        lambda X: _bsr(X, indptr=_with(2, -3)),
        "does not decrease. Got block row 1 from",
    ),
    "BSR, data short": (
        lambda X: _bsr(X, data=lambda array: array[:-2]),
        "elements in data, the end of indptr",
    ),
    "BSR, other blocks": (
        lambda X: _bsr(X, data=lambda array: np.ones((len(array), 5, 1))),
        r"blocks that divide its shape evenly. Got blocks of \(5, 1\)",
    ),
    "LIL, column beyond": (_lil_column, "must hold columns in .* Got column 1000000 in row 5"),
    "LIL, columns short": (_lil_short, "as many columns as numbers in every row. Got .* in row 5"),
    "DOK, column beyond": (_dok, r"elements within its shape. Got element \(3, 1000000\)"),
    "DIA, offsets short": (_dia(lambda offsets: offsets[:-1]), "offsets, one for each row of data"),
    "DIA, offset far": (
        _dia(lambda offsets: offsets.astype(np.int64) - 2**31),
        r"offsets in .* Got -21474",
    ),
}
