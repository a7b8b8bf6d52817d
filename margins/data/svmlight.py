"""Read files in the format of svmlight, LIBSVM and LIBLINEAR, compressed or not.

scikit-learn's `load_svmlight_file` reads the same files; this reader states the line and the column of
what is wrong with one, and imports NumPy only.
"""

import re
from typing import NamedTuple

import numpy as np

from margins.data._svmlight import parse
from margins.data.malformed import MalformedFile

LARGEST_INDEX = 2**31 - 2  # indices are int32

# Numbers that files for ranking and for costs have next to features: svmlight's own options need them.
EXTRA = rb"(?:qid|sid|cost):[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[ \t\r\n#]|\Z)"
EXTRAS = re.compile(rb"([^\s#][ \t\r]+)(" + EXTRA + rb"(?:[ \t\r]+" + EXTRA + rb")*)")

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
    "no value": "the value of a feature must follow the colon, with no blank between the two",
    "below first": "the first index is 1; a file that counts from 0 needs {option}",
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
    skipped: tuple[str, ...] = ()  # what is next to features: of qid, sid and cost those in the text


def parsed(
    text,
    path,
    *,
    zero_based=False,
    largest=LARGEST_INDEX,
    may_be_empty=False,
    option="zero_based=True",
):
    """The samples in the text, bytes, of a file: CsrArrays.

    Indices begin at 1, or with `zero_based` at 0, and are at most `largest`. ``qid:``, ``sid:`` and
    ``cost:`` with a number are skipped. MalformedFile if something is not as the format says, or if
    there is no sample, unless the text `may_be_empty`; `path` is the name of the file in errors, and
    `option` says how `zero_based` is given.
    """
    n_most, n_lines = text.count(b":"), text.count(b"\n") + 1
    values, columns = np.empty(n_most), np.empty(n_most, dtype=np.int32)
    starts, labels = np.empty(n_lines + 1, dtype=np.int64), np.empty(n_lines, dtype=np.int64)
    arrays, first, skipped = (values, columns, starts, labels), 0 if zero_based else 1, ()
    m, d, n, fault, line, position = parse(text, *arrays, first, largest)
    if fault == "index" and text.startswith((b"qid:", b"sid:", b"cost:"), position):
        text, skipped = _without_extras(text)
        m, d, n, fault, line, position = parse(text, *arrays, first, largest)
    if fault:
        raise _malformed(text, path, fault, line, position, largest=largest, option=option)
    if m == 0 and not may_be_empty:
        raise MalformedFile(path, 1, 1, "a file must hold at least one sample. Got none.")
    if n <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    if n < n_most:  # comments with colons
        values, columns = values[:n].copy(), columns[:n].copy()
    return CsrArrays(values, columns, starts[: m + 1], (m, d), labels[:m].copy(), skipped)


def note_of_skipped(path, names):
    """The note that fields of a file are skipped: str."""
    fields = " and ".join(f"{name}:" for name in names)
    return f"{path}: {fields} are skipped, as classifiers have no use for them."


def _without_extras(text):
    """The text with blanks in place of what is skipped, so that positions stay, and its names."""
    names = set()

    def blanks(match):
        names.update(name.decode() for name in re.findall(rb"(\w+):", match[2]))
        return match[1] + b" " * len(match[2])

    return EXTRAS.sub(blanks, text), tuple(sorted(names))


def _malformed(text, path, fault, line, position, **limits):
    """The error of the token at a position: MalformedFile."""
    begin = text.rfind(b"\n", 0, position) + 1
    column = len(text[begin:position].decode(errors="replace")) + 1
    token = re.match(rb"[^ \t\r\n]{0,40}", text[position : position + 40])[0]
    if fault == "value" and (not token or token.startswith(b"#")):
        fault, token = "no value", text[begin:position].split()[-1]
    got = token.decode(errors="replace")
    return MalformedFile(path, line, column, f"{ALLOWED[fault].format(**limits)}. Got {got!r}.")
