"""Small files of samples, valid and damaged, and what two readers make of each.

`scripts/robustness/fuzz_readers.py` runs them.
"""

import contextlib
import functools
import io
import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from margins.cli.errors import CommandError
from margins.cli.options import Source
from margins.cli.samples import read_samples
from margins.readers.malformed import MalformedFile
from margins.readers.svmlight import svmlight_parts
from margins.readers.tables import csv_parts, parquet_parts
from margins.readers.values import MISSING

FORMATS = ("svmlight", "csv", "parquet")
N_TABLES = 300  # different valid Parquet files
PART_BYTES = 60  # bytes of text per chunk
LABELS = {"svmlight": ("1", "-1", "+1", "2", "0", "1.0", "1e1"), "csv": ("0", "1", "yes", "true", "1.0")}
NUMBERS = ("1", "-2", "0", "0.5", "1e3", "-.25", "7.", "123456789012345678", "1e-310", "0.1")
CATEGORIES = ("p", "q", "1", "2.0", "", "true", '"a, b"', '"p ""q"""', " p", "é")
TOKENS = (
    *("nan", "inf", "1e999", "1e", "-", "0x1", "1_0", "18446744073709551616", "9223372036854775807"),
    *(
        "\0",
        "\x1e",
        "\x85",
        '"',
        '""',
        ",",
        ",,",
        "\r",
        "\n",
        "\r\n",
        "\ufeff",
        "#",
        ":",
        ": ",
        " ",
        "\t",
    ),
    *("qid:1", "cost:2", "sid:x", "0:1", "1:2", "2147483647:1", "5:1 5:2"),
    *("true", "False", "NA", "None"),
)
JOINS = re.compile(rb"([\s,:]+)")


class Outcome(NamedTuple):
    """The outcome of one file."""

    format: str
    column: str  # column of the printed table, one of `COLUMNS`
    fault: str = ""  # description of a fault


COLUMNS = ("accepted by both", "refused by both", "ours only", "theirs only", "differing")
# Editors write it, and it stands for nothing: ours accepts it at the start of svmlight's format.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Read(NamedTuple):
    """Samples, as one reader has them."""

    X: Any  # CSR array or data frame
    y: Any
    notes: str = ""


def case_of(seed, index):
    """Return the format and the contents of a file: str, bytes."""
    rng = np.random.default_rng([seed, index])
    kind = FORMATS[index % len(FORMATS)]
    contents = _valid(rng, kind)
    for _ in range(int(rng.choice([0, 1, 1, 1, 1, 2, 4]))):
        contents = _changed(rng, contents)
    return kind, contents


def _valid(rng, kind):
    if kind == "parquet":
        return _parquet(int(rng.integers(N_TABLES)))
    lines = []
    if kind == "csv":
        lines.append("x,c,z,y")
    for _ in range(int(rng.integers(1, 7))):
        if kind == "svmlight":
            indices = np.flatnonzero(rng.random(9) < 0.3) + 1
            label = str(rng.choice(LABELS["svmlight"]))
            fields = [f"{index}:{rng.choice(NUMBERS)}" for index in indices]
            if rng.random() < 0.05:
                fields.insert(0, f"qid:{rng.integers(3)}")
            comment = "# 1:2" if rng.random() < 0.1 else ""
            lines.append(" ".join([label, *fields, comment]).strip())
        else:
            numbers = [str(value) for value in rng.choice(NUMBERS, 2)]
            category, label = str(rng.choice(CATEGORIES)), str(rng.choice(LABELS["csv"]))
            lines.append(",".join([numbers[0], category, numbers[1], label]))
    end = str(rng.choice(["\n", "\n", "\r\n"]))
    return (end.join(lines) + end).encode()


@functools.cache
def _parquet(number):
    rng = np.random.default_rng(number)
    m = int(rng.integers(1, 7))
    numbers = {
        "float64": lambda: rng.normal(size=m),
        "float32": lambda: rng.normal(size=m).astype(np.float32),
        "int64": lambda: rng.integers(-5, 2**62, m),
        "uint8": lambda: rng.integers(0, 255, m).astype(np.uint8),
        "bool": lambda: rng.random(m) < 0.5,
        "decimal": lambda: [Decimal(int(value)) / 4 for value in rng.integers(0, 99, m)],
        "nullable": lambda: pandas.array(rng.integers(0, 9, m), dtype="Int64"),
    }
    names = {
        "str": lambda: rng.choice(["p", "q", " p", "1", "é"], m).astype(object),
        "missing": lambda: rng.choice(np.array(["p", None, "1.0"], dtype=object), m),
        "float": lambda: rng.choice([1.0, 2.5, np.nan], m),
        "int": lambda: rng.integers(0, 3, m),
        "bool": lambda: rng.random(m) < 0.5,
        "category": lambda: pandas.Categorical(rng.choice(["p", "q"], m)),
    }
    labels = {
        "int": lambda: rng.integers(-1, 2, m),
        "float": lambda: rng.integers(0, 2, m).astype(float),
        "bool": lambda: rng.random(m) < 0.5,
        "str": lambda: rng.choice(["yes", "no", "1"], m).astype(object),
    }

    def one_of(makers):
        return makers[str(rng.choice(list(makers)))]()

    frame = pandas.DataFrame(
        {"x": one_of(numbers), "c": one_of(names), "z": one_of(numbers), "y": one_of(labels)}
    )
    file = io.BytesIO()
    frame.to_parquet(
        file,
        compression=str(rng.choice(["none", "snappy", "gzip"])),
        row_group_size=int(rng.integers(1, m + 1)),
        index=None if rng.random() < 0.7 else bool(rng.random() < 0.5),
    )
    return file.getvalue()


def _changed(rng, contents):
    """Change the contents in one place."""
    if not contents:
        return str(rng.choice(TOKENS)).encode()
    at, length = int(rng.integers(len(contents))), int(rng.choice([1, 1, 2, 4, 12]))
    before, part, after = contents[:at], contents[at : at + length], contents[at + length :]
    change = int(rng.integers(8))
    if change == 0:
        return before + bytes([contents[at] ^ (1 << int(rng.integers(8)))]) + contents[at + 1 :]
    if change == 1:
        return before + rng.integers(0, 256, length, dtype=np.uint8).tobytes() + after
    if change == 2:
        return before + after
    if change == 3:
        return before + part + part + after
    if change == 4:
        return before + str(rng.choice(TOKENS)).encode() + part + after
    if change == 5:
        begin = contents.rfind(b"\n", 0, at) + 1  # a line is joined with the next one
        return contents[:begin] + contents[begin:].replace(b"\n", b"", 1)
    tokens = JOINS.split(contents)
    first, second = (2 * int(rng.integers((len(tokens) + 1) // 2)) for _ in range(2))
    if change == 6:
        tokens[first], tokens[second] = tokens[second], tokens[first]
    else:
        tokens[first] = str(rng.choice(TOKENS)).encode()
    return b"".join(tokens)


def outcome_of(kind, contents, path):
    """Write a file to a path, and return its Outcome."""
    with open(path, "wb") as file:
        file.write(contents)
    ours, fault = _attempt(functools.partial(_ours, kind, path), (CommandError, MalformedFile), path)
    if fault:
        return Outcome(kind, "differing", fault)
    in_chunks, fault = _attempt(functools.partial(_in_chunks, kind, path, ours), ValueError, path)
    if fault:
        return Outcome(kind, "differing", f"in chunks: {fault}")
    if ours is not None and in_chunks is not None and (difference := _difference(kind, ours, in_chunks)):
        return Outcome(kind, "differing", f"in chunks: {difference}")
    theirs, _ = _attempt(functools.partial(_theirs, kind, path), Exception)
    if ours is None:
        return Outcome(kind, "refused by both" if theirs is None else "theirs only")
    if theirs is None:
        return Outcome(kind, "ours only", "" if ours.notes else "accepted, refused by the other")
    difference = _difference(kind, ours, theirs)
    return Outcome(kind, "differing" if difference else "accepted by both", difference)


def _attempt(read, errors, path=None):
    """Return a reader's result, None if it rejects the file, and the fault of its error, a str."""
    try:
        return read(), ""
    except errors as error:
        if path is not None and not str(error).startswith(path):
            return None, f"the error does not begin with the path: {error}"
        return None, ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _ours(kind, path):
    table = {} if kind == "svmlight" else {"target": "y", "categorical": ("c",)}
    notes = io.StringIO()
    with contextlib.redirect_stderr(notes):
        samples = read_samples(Source(path, format=kind, **table))
    return Read(samples.X, samples.y, notes.getvalue())


def _in_chunks(kind, path, ours):
    """Read the same samples by the readers of `Chunks`, the column of categories as numbers."""
    if kind == "svmlight":
        parts = [part() for part in svmlight_parts([path], None, False, PART_BYTES)]
        return Read(sparse.vstack([X for X, _ in parts]) if parts else None, _joined(parts))
    values = ["p", "q"] if ours is None else ours.X["c"].unique().tolist()
    if kind == "csv":
        parts = csv_parts([path], "y", None, {"c": values}, None, PART_BYTES)
    else:
        parts = parquet_parts([path], "y", None, {"c": values}, None)
    parts = [part() for part in parts]
    if not parts:
        return None
    X = pandas.concat([X for X, _ in parts], ignore_index=True)
    codes = X[[f"c={value}" for value in values]].to_numpy().argmax(axis=1)
    X = X.drop(columns=[f"c={value}" for value in values]).assign(
        c=np.array(values, dtype=object)[codes]
    )
    return Read(X, _joined(parts))


def _joined(parts):
    return np.concatenate([y for _, y in parts]) if parts else np.empty(0)


def _theirs(kind, path):
    if kind == "svmlight":
        contents = Path(path).read_bytes().removeprefix(BYTE_ORDER_MARK)
        return Read(*load_svmlight_file(io.BytesIO(contents), zero_based=False))
    if kind == "csv":
        # After a carriage return, pandas takes a column without a name for the names of rows.
        frame = pandas.read_csv(io.BytesIO(Path(path).read_bytes().lstrip(b"\r\n")))
    else:  # the metadata of pandas, which may be damaged, repeat the names and types of the file
        schema = parquet.read_schema(path)
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        names = [name for name in schema.names if name not in index]
        frame = parquet.read_table(path, columns=names).to_pandas(ignore_metadata=True)
    frame.columns = [str(name) for name in frame.columns]
    return Read(frame.drop(columns="y"), frame["y"])


def _difference(kind, ours, theirs):
    """Return the difference of the samples of two readers; "" if there is none."""
    if len(ours.y) != len(theirs.y):
        return f"{len(ours.y)} samples, not {len(theirs.y)}"
    if kind == "svmlight":
        width = max(ours.X.shape[1], theirs.X.shape[1])
        for X in (ours.X, theirs.X):
            X.resize((X.shape[0], width))
        if (sparse.csr_array(ours.X) != sparse.csr_array(theirs.X)).nnz:
            return "X"
        return "" if np.array_equal(ours.y.astype(float), theirs.y.astype(float)) else "y"
    if sorted(ours.X.columns) != sorted(theirs.X.columns):
        return f"columns {ours.X.columns.tolist()}, not {theirs.X.columns.tolist()}"
    pairs = {name: (ours.X[name].tolist(), theirs.X[name].tolist()) for name in ours.X}
    pairs["the label"] = (ours.y.tolist(), theirs.y.tolist())
    for name, (first, second) in pairs.items():
        for a, b in zip(first, second, strict=True):
            if _key(a) != _key(b):
                return f"{name}: {a!r}, not {b!r}"
    return ""


def _key(value):
    """Return the meaning of a value, read independently of margins: float, str or None."""
    if value is None or value is pandas.NA or value != value:
        return None
    text = (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip(" \t")
    if text in MISSING:
        return None
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        is_text = "_" in text or Decimal(text).is_nan()  # which equals nothing
        return text if is_text else float(Decimal(text))
    except (InvalidOperation, OverflowError):
        return text
