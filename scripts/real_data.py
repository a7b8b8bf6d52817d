"""Readers of the 32 real data sets that the benchmarks and reproductions use.

The files are not part of the project. The environment variable ``MARGINS_DATA`` names the folder
that holds them, one folder a set (``a9a/``, ``w8a/``, ...), in their distributors' form.

X is float64, as CSR with int32 indices or, read from text, dense. Many files are sorted by class.

`real_data.toml` lists the sets: how they are read, their features, and the labels that are +1 in the
binary task.

A nominal attribute becomes one indicator column per value, values in sorted order. A missing value
("?") is all-zero indicators when nominal and the mean of its column when numeric. With crx this
gives the 46 features of Khardon & Wachman (2007), Table 1.

A two-class set has its larger label as +1; crx and promoters have "+". A set of more classes has
the first half (rounded down) of its sorted classes as +1. covtype follows Panagiotakopoulos &
Tsampouka instead: the first class against the rest, every feature x 0.001.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import lzma
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

VARIABLE = "MARGINS_DATA"


class Dataset(NamedTuple):
    """A data set in memory: X of shape (n, d), labels y of shape (n,), and where it comes from."""

    name: str
    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    source: str


@dataclass(frozen=True)
class Entry:
    """The entry of real_data.toml for one data set."""

    reader: str
    n_features: int
    positive: Sequence[int] | Sequence[str]
    source: str
    train: Sequence[str]
    test: Sequence[str] = ()
    scale: float = 1.0
    label: int = -1
    omitted: Sequence[int] = ()
    nominal: Sequence[int] = ()
    sequence: bool = False


def available() -> list[str]:
    """Return the sorted names of the sets with all their files available; [] without the variable."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return []
    return sorted(
        name
        for name, entry in ENTRIES.items()
        if all((Path(folder) / file).is_file() for file in (*entry.train, *entry.test))
    )


def load(name: str, part: str = "train") -> Dataset:
    """Read the part of a data set, "train" or "test", as distributed.

    The labels are int64, or str if they are letters or signs. A ValueError says that a name or part is
    unknown, or that a file has other columns than the table; a FileNotFoundError that MARGINS_DATA is
    not set, or lacks a file.
    """
    entry = _entry(name)
    paths = _paths(name, entry, part)
    X, y = READERS[entry.reader](paths, entry)
    if X.shape[1] != entry.n_features:
        raise ValueError(
            f"{paths[0]} must give {name} its {entry.n_features} features. Got {X.shape[1]}."
        )
    return Dataset(name, X, y, entry.source)


def binary(name: str, part: str = "train") -> Dataset:
    """Read the two-class task of a set: as `load`, but y is int64 in {-1, +1} and X is scaled."""
    entry = _entry(name)
    dataset = load(name, part)
    X = dataset.X if entry.scale == 1.0 else dataset.X * entry.scale
    y = np.where(np.isin(dataset.y, list(entry.positive)), 1, -1)
    return dataset._replace(X=X, y=y)


def _entry(name: str) -> Entry:
    if name in ENTRIES:
        return ENTRIES[name]
    close = difflib.get_close_matches(str(name).lower(), ENTRIES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    allowed = ", ".join(sorted(ENTRIES))
    raise ValueError(f"name of a data set must be one of {allowed}. Got {name!r}.{hint}")


def _paths(name: str, entry: Entry, part: str) -> list[Path]:
    parts = {"train": entry.train} | ({"test": entry.test} if entry.test else {})
    if part not in parts:
        allowed = " or ".join(map(repr, parts))
        raise ValueError(f"part of data set {name} must be {allowed}. Got {part!r}.")
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise FileNotFoundError(
            f"{VARIABLE} must be set to the folder that holds a9a/, w8a/, ... to load {name}. "
            "Got no value."
        )
    paths = [Path(folder) / file for file in parts[part]]
    for path in paths:
        if not path.is_file():
            present = ", ".join(available()) or "none"
            raise FileNotFoundError(
                f"{path} must exist to load {name}. Got no such file. "
                f"Data sets complete under {VARIABLE}: {present}."
            )
    return paths


def _open(path: Path, mode: str = "rt") -> IO:
    openers = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
    return openers.get(path.suffix, open)(path, mode)


def _narrow(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """Give X int32 indices: the svmlight reader returns int64, twice the memory for nothing."""
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_matrix((X.data, indices, indptr), shape=X.shape)


def _compressed(rows: np.ndarray) -> sparse.csr_matrix:
    """Compress small integers while they are narrow, as float64."""
    return _narrow(sparse.csr_matrix(rows).astype(np.float64))


def _read_svmlight(paths, entry):
    # Both options are given because guessing them from a file makes train and test disagree.
    X, y = load_svmlight_file(str(paths[0]), n_features=entry.n_features, zero_based=False)
    return _narrow(X), y.astype(np.int64)


def _read_integers(paths, entry):
    with _open(paths[0]) as stream:
        rows = np.loadtxt(stream, delimiter=",", dtype=np.int16, ndmin=2)
    return _compressed(rows[:, :-1]), rows[:, -1].astype(np.int64)


def _idx(path: Path) -> np.ndarray:
    """Read unsigned bytes in the idx form: 0, 0, type, rank, big-endian sizes, values."""
    with _open(path, "rb") as stream:
        content = stream.read()
    rank = content[3]
    shape = np.frombuffer(content, ">i4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _read_images(paths, entry):
    images, labels = (_idx(path) for path in paths)
    return _compressed(images.reshape(len(images), -1)), labels.astype(np.int64)


def _numeric(column: np.ndarray) -> np.ndarray:
    missing = column == "?"
    values = np.where(missing, "nan", column).astype(np.float64)
    if missing.any():
        values[missing] = values[~missing].mean()
    return values[:, np.newaxis]


def _indicators(column: np.ndarray) -> np.ndarray:
    values = np.unique(column)
    return (column[:, np.newaxis] == values[values != "?"]).astype(np.float64)


def _labels(column: np.ndarray) -> np.ndarray:
    if np.char.isdigit(column).all():
        return column.astype(np.int64)
    return np.array(column.tolist())  # as wide as the labels, not as the widest field of the file


def _read_text(paths, entry):
    with _open(paths[0]) as stream:
        rows = [fields for line in stream if (fields := line.replace(",", " ").split())]
    if entry.sequence:
        rows = [[*fields[:-1], *fields[-1]] for fields in rows]
    table = np.array(rows)
    label = entry.label % table.shape[1]
    columns = [
        _indicators(column) if entry.sequence or place in entry.nominal else _numeric(column)
        for place, column in enumerate(table.T)
        if place != label and place not in entry.omitted
    ]
    return np.hstack(columns), _labels(table[:, label])


READERS = {
    "svmlight": _read_svmlight,
    "integers": _read_integers,
    "images": _read_images,
    "text": _read_text,
}
TABLE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
ENTRIES = {name: Entry(**fields) for name, fields in tomllib.loads(TABLE).items()}
