"""Readers of the 32 real data sets that the benchmarks and reproductions use.

The files are not part of the project. The environment variable ``MARGINS_DATA`` names the folder
that holds them, one folder a set (``a9a/``, ``w8a/``, ...), in their distributors' form.

``load`` returns a set as distributed: raw values, rows in file order (many files are sorted by
class, so shuffle before on-line training), original labels. ``binary`` returns the two-class task
with labels -1 and +1. Form "csr" is sparse, float64 with int32 indices; "dense" is float64.

=======================  ======  =====  ========  =======  =====  ======================
name                      train   test  features  classes  form   +1 in the binary task
=======================  ======  =====  ========  =======  =====  ======================
a9a                       32561  16281       123        2  csr    1
w8a                       49749      -       300        2  csr    1
covtype                  581012      -        54        7  csr    1; features x 0.001
news20                    15935      -     62061       20  csr    1..10
sector                     6412   3207     55197      105  csr    1..52
basehock                   1993      -      4862        2  csr    2
pcmac                      1943      -      3289        2  csr    2
relathe                    1427      -      4322        2  csr    2
mushrooms                  8124      -       112        2  csr    2
splice                     1000   2175        60        2  csr    1
madelon                    2000    600       500        2  csr    1
arcene                      100      -     10000        2  csr    1
duke                         44      -      7129        2  csr    1
colon-cancer                 62      -      2000        2  csr    1
singh                       102      -     12600        2  csr    2
shipp                        77      -      7129        2  csr    2 (minority)
gravier                     168      -      2905        2  csr    2 (minority)
usps                       7291   2007       256       10  csr    0..4
mnist                     60000  10000       784       10  csr    0..4
skin_nonskin             245057      -         3        2  dense  2
breast-cancer-wisconsin     699      -         9        2  dense  4 (minority)
wdbc                        569      -        30        2  dense  M (minority)
wpbc                        198      -        33        2  dense  R (minority)
crx                         690      -        46        2  dense  "+" (minority)
ionosphere                  351      -        34        2  dense  g
sonar                       208      -        60        2  dense  R (minority)
bupa                        345      -         6        2  dense  2
promoters                   106      -       228        2  dense  "+"
spambase                   4601      -        57        2  dense  1 (minority)
satimage                   4435   2000        36        6  dense  1, 2, 3
shuttle                   43500  14500         9        7  dense  1, 2, 3
australian                  690      -        14        2  dense  1 (minority)
=======================  ======  =====  ========  =======  =====  ======================

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
import itertools
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

VARIABLE = "MARGINS_DATA"
BLOCK = 1 << 16  # rows: a large set is never whole in memory as text or as dense numbers


class Dataset(NamedTuple):
    """A data set in memory: X of shape (n, d), labels y of shape (n,), and where it comes from."""

    name: str
    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    source: str


@dataclass(frozen=True)
class Entry:
    """The table's entry for one data set. Column numbers refer to the text file."""

    reader: Callable  # (paths, entry) -> X, y
    n_features: int
    positive: Sequence[int] | Sequence[str]  # the labels that are +1 in the binary task
    source: str
    train: tuple[str, ...]
    test: tuple[str, ...] = ()
    scale: float = 1.0  # factor of the features in the binary task
    label: int = -1
    omitted: Sequence[int] = ()  # identifiers and names: no features
    nominal: Sequence[int] = ()
    sequence: bool = False  # the last column is a word; its letters are nominal values


def available() -> list[str]:
    """Return the sorted names of the sets with all their files available; [] without the variable."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return []
    return sorted(
        name
        for name, entry in ENTRIES.items()
        if all((Path(folder) / file).is_file() for file in entry.train + entry.test)
    )


def load(name: str, part: str = "train") -> Dataset:
    """Read a data set as distributed.

    Parameters
    ----------
    name : str
        A name of the table in the module's docstring.
    part : {"train", "test"}
        "test" where the distributor gives one.

    Returns
    -------
    Dataset
        X is csr_matrix (float64, int32 indices) or ndarray (float64); y holds the original labels,
        int64, or str where they are letters or signs.

    Raises
    ------
    ValueError
        If a name or part is unknown, or the columns of a file differ from the table.
    FileNotFoundError
        MARGINS_DATA is not set, or a file is not there.
    """
    entry = _entry(name)
    paths = _paths(name, entry, part)
    X, y = entry.reader(paths, entry)
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


def _stack(blocks: Iterable[np.ndarray]) -> sparse.csr_matrix:
    """Compress blocks of small integers while they are narrow, and stack them as float64."""
    compressed = [sparse.csr_matrix(block).astype(np.float64) for block in blocks]
    return _narrow(sparse.vstack(compressed, format="csr"))


def _read_svmlight(paths, entry):
    # Both options are given because guessing them from a file makes train and test disagree.
    X, y = load_svmlight_file(str(paths[0]), n_features=entry.n_features, zero_based=False)
    return _narrow(X), y.astype(np.int64)


def _integer_blocks(path: Path, labels: list[np.ndarray]) -> Iterator[np.ndarray]:
    with _open(path) as stream:
        while lines := list(itertools.islice(stream, BLOCK)):
            rows = np.loadtxt(lines, delimiter=",", dtype=np.int16, ndmin=2)
            labels.append(rows[:, -1].astype(np.int64))
            yield rows[:, :-1]


def _read_integers(paths, entry):
    labels = []
    X = _stack(_integer_blocks(paths[0], labels))
    return X, np.concatenate(labels)


def _idx(path: Path) -> np.ndarray:
    """Read unsigned bytes in the idx form: 0, 0, type, rank, big-endian sizes, values."""
    with _open(path, "rb") as stream:
        content = stream.read()
    rank = content[3]
    shape = np.frombuffer(content, ">i4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _read_images(paths, entry):
    images, labels = (_idx(path) for path in paths)
    pixels = images.reshape(len(images), -1)
    return _stack(np.array_split(pixels, 8)), labels.astype(np.int64)


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


def _svmlight(n_features, positive, source, train, *test) -> Entry:
    return Entry(_read_svmlight, n_features, positive, source, (train,), test)


def _text(n_features, positive, source, train, *test, **columns) -> Entry:
    return Entry(_read_text, n_features, positive, source, (train,), test, **columns)


UCI = "UCI"
NEWSGROUPS = "20 Newsgroups (Lang 1995)"
ENTRIES = {
    "a9a": _svmlight(123, [1], "UCI Adult, binarised (Platt)", "a9a/a9a.bz2", "a9a/a9a.t.bz2"),
    "w8a": _svmlight(300, [1], "Web (Platt 1998)", "w8a/w8a.bz2"),
    "covtype": Entry(_read_integers, 54, [1], UCI, ("covtype/covtype.data.xz",), scale=0.001),
    "news20": _svmlight(62061, range(1, 11), f"{NEWSGROUPS}, LIBSVM", "news20/news20.bz2"),
    "sector": _svmlight(
        55197, range(1, 53), "LIBSVM scale", "sector/sector.scale.bz2", "sector/sector.t.scale.bz2"
    ),
    "basehock": _svmlight(4862, [2], NEWSGROUPS, "basehock/BASEHOCK.bz2"),
    "pcmac": _svmlight(3289, [2], NEWSGROUPS, "pcmac/PCMAC.bz2"),
    "relathe": _svmlight(4322, [2], NEWSGROUPS, "relathe/RELATHE.bz2"),
    "mushrooms": _svmlight(112, [2], UCI, "mushrooms/mushrooms.bz2"),
    "splice": _svmlight(60, [1], UCI, "splice/splice.bz2", "splice/splice.t.bz2"),
    "madelon": _svmlight(500, [1], UCI, "madelon/madelon.bz2", "madelon/madelon.t.bz2"),
    "arcene": _svmlight(10000, [1], UCI, "arcene/arcene.bz2"),
    "duke": _svmlight(7129, [1], "West et al. 2001, LIBSVM", "duke/duke.bz2"),
    "colon-cancer": _svmlight(2000, [1], "Alon et al. 1999", "colon-cancer/colon-cancer.bz2"),
    "singh": _svmlight(12600, [2], "Singh et al. 2002", "singh/singh.bz2"),
    "shipp": _svmlight(7129, [2], "Shipp et al. 2002", "shipp/shipp.bz2"),
    "gravier": _svmlight(2905, [2], "Gravier et al. 2010", "gravier/gravier.bz2"),
    "usps": _svmlight(256, range(5), "Hull 1994", "usps/usps.bz2", "usps/usps.t.bz2"),
    "mnist": Entry(
        _read_images,
        784,
        range(5),
        "LeCun et al. 1998",
        ("mnist/train-images-idx3-ubyte.xz", "mnist/train-labels-idx1-ubyte.gz"),
        ("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"),
    ),
    "skin_nonskin": _text(3, [2], UCI, "skin_nonskin/Skin_NonSkin.txt.bz2"),
    "breast-cancer-wisconsin": _text(
        9, [4], UCI, "breast-cancer-wisconsin/breast-cancer-wisconsin.data", omitted=[0]
    ),
    "wdbc": _text(30, ["M"], UCI, "wdbc/wdbc.data", label=1, omitted=[0]),
    "wpbc": _text(33, ["R"], UCI, "wpbc/wpbc.data", label=0),  # the id is not in this file
    "crx": _text(46, ["+"], UCI, "crx/crx.data", nominal=[0, 3, 4, 5, 6, 8, 9, 11, 12]),
    "ionosphere": _text(34, ["g"], UCI, "ionosphere/ionosphere.data"),
    "sonar": _text(60, ["R"], UCI, "sonar/sonar.all-data"),
    "bupa": _text(6, [2], UCI, "bupa/bupa.data"),
    "promoters": _text(228, ["+"], UCI, "promoters/promoters.data", label=0, omitted=[1], sequence=True),
    "spambase": _text(57, [1], UCI, "spambase/spambase.data.bz2"),
    "satimage": _text(36, [1, 2, 3], UCI, "satimage/sat.trn.bz2", "satimage/sat.tst.bz2"),
    "shuttle": _text(9, [1, 2, 3], UCI, "shuttle/shuttle.trn.bz2", "shuttle/shuttle.tst.bz2"),
    "australian": _text(14, [1], UCI, "australian/australian.dat"),
}
