"""Reads text in the format of svmlight, LIBSVM and LIBLINEAR.

scikit-learn's `load_svmlight_file` reads the same files. This reader states the line and the column of a
fault, and imports no other package: NumPy's import takes longer than to predict. `svmlight_parts`
divides files into parts of about 32 megabytes of lines.
"""

import re
import warnings
from array import array
from numbers import Integral
from typing import Any, NamedTuple

from margins.readers._svmlight import parse
from margins.readers.files import TEXT_BYTES, bytes_of, check_not_empty, n_lines_before, ranges_of_lines
from margins.readers.malformed import MalformedFile

LARGEST_INDEX = 2**31 - 2  # indices are int32

# Numbers next to the features in files for ranking and for costs, used by some options of svmlight.
EXTRA = rb"(?:qid|sid|cost):[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[ \t\r\n#]|\Z)"
EXTRAS = re.compile(rb"([^\s#][ \t\r]+)(" + EXTRA + rb"(?:[ \t\r]+" + EXTRA + rb")*)")

# The rule that a fault violates, for errors.
ALLOWED = {
    "label": "a sample must start with its label, a whole number",
    "fraction": "a label must be a whole number, which names a class; it may not have a fraction",
    "large label": (
        "a label must be in [-2**63, 2**63) or, with a point or an exponent, in (-2**53, 2**53), "
        "so that it is exact"
    ),
    "index": "a feature must be index:value, the index a whole number",
    "colon": "a feature must be index:value, with a colon and no blank between the two",
    "value": "the value of a feature must be a finite number",
    "no value": "the value of a feature must follow the colon, with no blank between the two",
    "below first": "the first index is 1; a file that counts from 0 needs {option}",
    "not ascending": "the indices of a sample must ascend",
    "too large": "an index must be at most {largest}",
}


class CsrArrays(NamedTuple):
    """Arrays of a CSR matrix, and labels: of the module `array` as they are read, or of NumPy."""

    values: Any  # float64, shape (n_stored,)
    columns: Any  # int32, shape (n_stored,), ascending in each row
    starts: Any  # int64; of NumPy int32, unless that is too small; shape (m + 1,)
    shape: tuple[int, int]
    labels: Any  # int64, shape (m,)
    skipped: tuple[str, ...] = ()  # the names among qid, sid and cost that were skipped

    def of_numpy(self):
        """Return the same with arrays of NumPy, which share the memory of the largest."""
        import numpy as np

        index_type = np.int32 if len(self.values) <= np.iinfo(np.int32).max else np.int64
        return self._replace(
            values=np.asarray(self.values),
            columns=np.asarray(self.columns),
            starts=np.array(self.starts, dtype=index_type),
            labels=np.array(self.labels, dtype=np.int64),
        )

    # What a fit reads of SciPy's CSR matrix.

    @property
    def data(self):
        return self.values

    @property
    def indices(self):
        return self.columns

    @property
    def indptr(self):
        return self.starts

    @property
    def nnz(self):
        return len(self.values)

    @property
    def has_canonical_format(self):
        return True  # the reader rejects anything else


def parsed(
    text, path, zero_based=False, largest=LARGEST_INDEX, option="zero_based=True", may_be_empty=False
):
    """Return the CsrArrays of the text of a file, or raise a MalformedFile, which may name `option`."""
    n_most, n_lines = text.count(b":"), text.count(b"\n") + 1
    values, columns = array("d", [0.0]) * n_most, array("i", [0]) * n_most
    starts, labels = array("q", [0]) * (n_lines + 1), array("q", [0]) * n_lines
    arrays, first, skipped = (values, columns, starts, labels), 0 if zero_based else 1, ()
    m, d, n, fault, line, position = parse(text, *arrays, first, largest)
    if fault == "index" and text.startswith((b"qid:", b"sid:", b"cost:"), position):
        text, skipped = _without_extras(text)
        m, d, n, fault, line, position = parse(text, *arrays, first, largest)
    if fault:
        raise _malformed(text, path, fault, line, position, largest=largest, option=option)
    if m == 0 and not may_be_empty:
        raise MalformedFile(path, 1, 1, "a file must hold at least one sample. Got none.")
    del values[n:], columns[n:], starts[m + 1 :], labels[m:]  # for comments and empty lines
    return CsrArrays(values, columns, starts, (m, d), labels, skipped)


def note_of_skipped(path, names):
    """Return the warning that fields of a file are skipped (str)."""
    fields = " and ".join(f"{name}:" for name in names)
    return f"{path}: {fields} are skipped, because classifiers do not use them."


def _without_extras(text):
    """Return the text with skipped fields blanked out, which keeps positions, and their names."""
    names = set()

    def blanks(match):
        names.update(name.decode() for name in re.findall(rb"(\w+):", match[2]))
        return match[1] + b" " * len(match[2])

    return EXTRAS.sub(blanks, text), tuple(sorted(names))


def _malformed(text, path, fault, line, position, **limits):
    """Return the MalformedFile for the token at a position."""
    line_start = text.rfind(b"\n", 0, position) + 1
    column = len(text[line_start:position].decode(errors="replace")) + 1
    token = re.match(rb"[^ \t\r\n]{0,40}", text[position : position + 40])[0]
    if fault == "value" and (not token or token.startswith(b"#")):
        fault, token = "no value", text[line_start:position].split()[-1]
    got = token.decode(errors="replace")
    return MalformedFile(path, line, column, f"{ALLOWED[fault].format(**limits)}. Got {got!r}.")


class LinesOfSvmlight(NamedTuple):
    """Reader of the lines in a byte range of a file in svmlight's format: a CSR array and labels."""

    path: str
    begin: int
    end: int
    n_features: int | None  # None: the largest index
    zero_based: bool
    warned_paths: set[str]  # whose skipped fields have caused a warning; shared by readers, and updated
    option: str
    n_rows: int | None = None  # None: not counted

    @property
    def facts(self):
        """The path, and the numbers of rows and columns of X."""
        return self.path, self.n_rows, self.n_features

    def __call__(self):
        return matrix_of(self.arrays(), self.n_features)

    def arrays(self):
        """Return the CsrArrays of the lines."""
        d = self.n_features
        largest = LARGEST_INDEX if d is None else d - self.zero_based
        text = bytes_of(self.path, self.begin, self.end)
        try:
            arrays = parsed(text, self.path, self.zero_based, largest, self.option, may_be_empty=True)
        except MalformedFile as error:  # its line number counts from the start of this part
            raise error.moved(n_lines_before(self.path, self.begin)) from None
        if arrays.skipped and self.path not in self.warned_paths:
            self.warned_paths.add(self.path)
            warnings.warn(note_of_skipped(self.path, arrays.skipped), stacklevel=2)
        return arrays


def svmlight_parts(paths, n_features, zero_based, n_bytes=TEXT_BYTES, option="zero_based=True"):
    """Divide files in svmlight's format into parts of about `n_bytes` (list of LinesOfSvmlight)."""
    import numpy as np

    largest = LARGEST_INDEX + bool(zero_based)
    is_count = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if n_features is not None and not (is_count and 1 <= n_features <= largest):
        raise ValueError(
            "n_features of Chunks.from_svmlight must be None or an integer in "
            f"[1, {largest}]. Got {n_features!r}."
        )
    if not isinstance(zero_based, bool | np.bool_):
        raise ValueError(
            f"zero_based of Chunks.from_svmlight must be True or False. Got {zero_based!r}."
        )
    options = n_features, zero_based, set(), option
    ranges = [(path, *ends) for path in paths for ends in ranges_of_lines(path, n_bytes)]
    check_not_empty(ranges, paths, "Chunks.from_svmlight")
    parts = [LinesOfSvmlight(*byte_range, *options) for byte_range in ranges]
    if n_features is not None:
        return parts
    shapes = [part.arrays().shape for part in parts]
    d = max(d for _, d in shapes)
    return [part._replace(n_features=d, n_rows=m) for part, (m, _) in zip(parts, shapes, strict=True)]


def matrix_of(arrays, n_features=None):
    """Return X and y of CsrArrays: CSR array, ndarray."""
    from scipy import sparse

    arrays, (m, d) = arrays.of_numpy(), arrays.shape
    X = sparse.csr_array(arrays[:3], shape=(m, d if n_features is None else n_features))
    X.has_canonical_format = True  # the reader rejects anything else
    return X, arrays.labels
