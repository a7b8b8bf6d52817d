"""Read files in the format of svmlight, LIBSVM and LIBLINEAR, compressed or not.

scikit-learn's `load_svmlight_file` reads the same files; this reader states the line and the column of
what is wrong with one, and imports NumPy only.
"""

from typing import NamedTuple

import numpy as np

from margins.data._svmlight import parse
from margins.data.malformed import MalformedFile

LARGEST_INDEX = 2**31 - 2  # indices are int32

# What errors say is allowed where the fault is.
ALLOWED = {
    "label": "a sample must begin with its label, a whole number",
    "fraction": "a label must be a whole number, which names a class; it may not have a fraction",
    "large label": (
        "a label must be in [-2**63, 2**63) or, with a point or an exponent, in (-2**53, 2**53), "
        "so that it is exact"
    ),
    "index": "a feature must be index:value, the index a whole number",
    "colon": "a feature must be index:value, with a colon and no blank between the two",
    "value": "the value of a feature must be a finite number",
    "below first": "the first index is 1; files that count from 0 need zero_based",
    "not ascending": "the indices of a sample must ascend",
    "too large": "an index must be at most {largest}",
}


class CsrArrays(NamedTuple):
    """The arrays of a CSR matrix, and labels."""

    values: np.ndarray  # float64, shape (n_stored,)
    columns: np.ndarray  # int32, shape (n_stored,): of each row, in ascending order
    starts: np.ndarray  # int32 or, of more elements than that counts, int64, shape (m + 1,)
    shape: tuple[int, int]
    labels: np.ndarray  # int64, shape (m,)


def parsed(text, path, *, zero_based=False, largest=LARGEST_INDEX):
    """The samples in the text, bytes, of a file: CsrArrays.

    Indices begin at 1, or with `zero_based` at 0, and are at most `largest`. MalformedFile if something
    is not as the format says, or if there is no sample; `path` is the name of the file in errors.
    """
    n_most, n_lines = text.count(b":"), text.count(b"\n") + 1
    values, columns = np.empty(n_most), np.empty(n_most, dtype=np.int32)
    starts, labels = np.empty(n_lines + 1, dtype=np.int64), np.empty(n_lines, dtype=np.int64)
    first = 0 if zero_based else 1
    m, d, n, fault, line, position = parse(text, values, columns, starts, labels, first, largest)
    if fault:
        allowed = ALLOWED[fault].format(largest=largest)
        raise _malformed(text, path, allowed, line, position)
    if m == 0:
        raise MalformedFile(path, 1, 1, "a file must hold at least one sample. Got none.")
    if n <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    if n < n_most:  # comments with colons
        values, columns = values[:n].copy(), columns[:n].copy()
    return CsrArrays(values, columns, starts[: m + 1], (m, d), labels[:m].copy())


def _malformed(text, path, allowed, line, position):
    """The error of the token at a position: MalformedFile."""
    begin = text.rfind(b"\n", 0, position) + 1
    column = len(text[begin:position].decode(errors="replace")) + 1
    token = text[position : position + 40].split(maxsplit=1)
    got = token[0].decode(errors="replace") if token else ""
    return MalformedFile(path, line, column, f"{allowed}. Got {got!r}.")
