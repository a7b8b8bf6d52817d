"""Chunks of files: row groups of Parquet, and byte ranges of CSV and of svmlight's format.

Each part is an object that reads its rows when it is called, so it can be sent to other processes. A
table is read one column at a time into an array of float64, whatever the types of its numbers.
"""

import csv
import io
import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from margins.data.malformed import MalformedFile
from margins.data.svmlight import LARGEST_INDEX, parsed

# Bytes of a text file that are read at a time.
TEXT_BYTES = 1 << 25
# Fields of CSV that stand for a missing value, but of categories.
MISSING = frozenset(
    ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a", "#N/A", "<NA>", "-nan", "-NaN")
)


class TableColumns(NamedTuple):
    """Which columns of tables are read, and as what."""

    target: str
    names: tuple[str, ...]  # of the features, in order
    categories: dict[str, list[Any]]  # the values of columns of categories, each a column of 0 and 1
    weight: str | None  # the column of sample weights

    @property
    def read(self):
        """The columns of the file that are needed: list of str."""
        return [*self.names, self.target, *([] if self.weight is None else [self.weight])]

    @property
    def features(self):
        """The names of the columns of X: list of str."""
        return [
            column
            for name in self.names
            for column in (
                [f"{name}={value}" for value in self.categories[name]]
                if name in self.categories
                else [name]
            )
        ]


def columns_of(found_in, target, columns, categories, weight):
    """The columns of tables, in the order of the first one: TableColumns.

    Parameters
    ----------
    found_in : list of (str, list of str)
        The path and the columns of each table.
    target, columns, categories, weight
        As `Chunks.from_parquet` takes them.

    Raises
    ------
    ValueError
        If one that is named is not there, or columns have no names of their own, or differ in tables.
    """
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names. Got the str {columns!r}.")
    path, first = found_in[0]
    names = (
        [name for name in first if name not in (target, weight)] if columns is None else list(columns)
    )
    given = dict(categories or {})
    categories = {name: list(values) for name, values in given.items()}
    needed = [target, *names, *categories, *([] if weight is None else [weight])]
    for path, found in found_in:
        shown = f"Columns: {', '.join(map(repr, found))}."
        missing = [name for name in needed if name not in found]
        if missing:
            raise ValueError(f"{path}: there is no column {missing[0]!r}. {shown}")
        if len(set(found)) < len(found):
            raise ValueError(f"{path}: every column must have a name of its own. {shown}")
        new = set(found) - set(first)
        if columns is None and new:
            raise ValueError(
                f"{path}: must have the columns of {found_in[0][0]}. Got {min(new)!r}. {shown}"
            )
    if target in names or not names or target == weight or weight in names:
        raise ValueError(
            f"{path}: X must have a column, and neither the target {target!r} nor the weights, which "
            f"must be columns of their own. Got {names}, and weights {weight!r}."
        )
    for name, values in categories.items():
        if name not in names:
            raise ValueError(f"{path}: categories must be columns of X. Got {name!r}.")
        if isinstance(given[name], str) or not values or len(set(values)) < len(values):
            raise ValueError(
                f"{path}: the values of {name!r} must be distinct, in a list. Got {given[name]!r}."
            )
    return TableColumns(target, tuple(names), categories, weight)


def samples_of(place, columns, values_of):
    """The samples of a part of a table: a data frame X, y, and weights if it has them.

    Parameters
    ----------
    place : str
        What errors call the part.
    columns : TableColumns
    values_of : callable
        ``values_of(name)`` returns a column: pandas.Series.
    """
    import pandas

    features, y = columns.features, values_of(columns.target)
    if y.isna().any():
        raise ValueError(f"{place}: the label {columns.target!r} must not be missing.")
    X, at = np.empty((len(y), len(features)), order="F"), 0
    for name in columns.names:
        values = values_of(name)
        if name in columns.categories:
            allowed = columns.categories[name]
            codes = pandas.Index(allowed).get_indexer(values)
            if (codes < 0).any():
                raise ValueError(
                    f"{place}: {name!r} must be one of {', '.join(map(repr, allowed))}. "
                    f"Got {values.tolist()[int(np.argmax(codes < 0))]!r}."
                )
            X[:, at : at + len(allowed)] = codes[:, None] == np.arange(len(allowed))
            at += len(allowed)
            continue
        X[:, at] = _numbers(place, name, values)
        at += 1
    frame = pandas.DataFrame(X, columns=features, copy=False)
    labels = y.to_numpy()
    if columns.weight is None:
        return frame, labels
    return frame, labels, _numbers(place, columns.weight, values_of(columns.weight))


def _numbers(place, name, values):
    """A column of numbers: ndarray of float64; ValueError if it has something else, or none."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(values) or is_bool_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isfinite(numbers).all():
            return numbers
    for row, value in enumerate(values.tolist()):
        if not _is_number(value):
            hint = f" Of categories give the values: categories={{{name!r}: [...]}}."
            raise ValueError(
                f"{place}, row {row}: {name!r} must be a finite number. Got {value!r}."
                f"{hint if isinstance(value, str) else ''}"
            )
    return np.array([float(value) for value in values.tolist()])


def _is_number(value):
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


class RowGroup:
    """Reads a row group of a Parquet file.

    Parameters
    ----------
    path : str
    index : int
    columns : TableColumns
    """

    def __init__(self, path, index, columns):
        self._path, self._index, self._columns = path, index, columns

    def __call__(self):
        from pyarrow import parquet

        with parquet.ParquetFile(self._path) as file:

            def values_of(name):
                # Other threads read other chunks.
                table = file.read_row_group(self._index, columns=[name], use_threads=False)
                return table.column(0).to_pandas()

            place = f"{self._path}, row group {self._index}"
            return samples_of(place, self._columns, values_of)


def parquet_parts(paths, target, columns, categories, weight):
    """The row groups of Parquet files: list of RowGroup."""
    from pyarrow import ArrowInvalid, parquet

    found_in, n_groups = [], []
    for path in paths:
        try:
            with parquet.ParquetFile(path) as file:
                found_in.append((path, _columns_in(file.schema_arrow)))
                n_groups.append(file.num_row_groups)
        except ArrowInvalid as error:
            raise ValueError(f"{path}: is no Parquet file: {error}") from error
    chosen = columns_of(found_in, target, columns, categories, weight)
    return [
        RowGroup(path, index, chosen)
        for path, n in zip(paths, n_groups, strict=True)
        for index in range(n)
    ]


def _columns_in(schema):
    """The columns of a Parquet file, without those of the index of pandas: list of str."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


class LinesOfCsv:
    """Reads some lines of a CSV file.

    Parameters
    ----------
    path : str
    header : bytes
        The first line.
    begin, end : int
        The bytes of the lines.
    columns : TableColumns
    """

    def __init__(self, path, header, begin, end, columns):
        self._path, self._header, self._begin, self._end = path, header, begin, end
        self._columns = columns

    def __call__(self):
        import pandas

        text = self._header + _bytes_of(self._path, self._begin, self._end)
        columns, place = self._columns, f"{self._path}, bytes {self._begin} to {self._end}"
        types = {name: pandas.Index(values).dtype for name, values in columns.categories.items()}
        texts = [name for name, dtype in types.items() if not pandas.api.types.is_numeric_dtype(dtype)]
        try:
            table = pandas.read_csv(
                io.BytesIO(text),
                encoding="utf-8-sig",
                dtype=types,
                na_values={name: MISSING for name in columns.read if name not in texts},
                keep_default_na=False,
                low_memory=False,  # else the type of a column depends on where its texts are
            )
        except ValueError as error:
            raise ValueError(f"{place}: is no CSV of the columns of its header: {error}") from error
        if not isinstance(table.index, pandas.RangeIndex):  # longer rows are taken for rows with names
            raise ValueError(f"{place}: row 0 has more fields than the header.")
        return samples_of(place, columns, lambda name: table[name])


def csv_parts(paths, target, columns, categories, weight, n_bytes=TEXT_BYTES):
    """Lines of CSV files with a header, about `n_bytes` of them at a time: list of LinesOfCsv."""
    headers = [_header_of(path) for path in paths]
    found_in = [(path, names) for path, (_, names) in zip(paths, headers, strict=True)]
    chosen = columns_of(found_in, target, columns, categories, weight)
    return [
        LinesOfCsv(path, header, begin, end, chosen)
        for path, (header, _) in zip(paths, headers, strict=True)
        for begin, end in ranges_of_lines(path, n_bytes, len(header), quote=b'"')
    ]


def _header_of(path):
    """The first line of a CSV file, and the names in it: bytes, list of str."""
    _, end = next(ranges_of_lines(path, 1, quote=b'"'), (0, 0))
    header = _bytes_of(path, 0, end)
    try:
        [names] = csv.reader(io.StringIO(header.decode("utf-8-sig"), newline=""))
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: must be CSV in UTF-8 that begins with a header: {error}") from error
    return header, names


class LinesOfSvmlight:
    """Reads some lines of a file in svmlight's format.

    Parameters
    ----------
    path : str
    begin, end : int
        The bytes of the lines.
    n_features : int
    zero_based : bool
    """

    def __init__(self, path, begin, end, n_features, zero_based):
        self._path, self._begin, self._end = path, begin, end
        self._n_features, self._zero_based = n_features, zero_based

    def __call__(self):
        arrays = self._arrays(self._n_features - self._zero_based)
        if arrays is None:
            return sparse.csr_array((0, self._n_features)), np.empty(0, np.int64)
        X = sparse.csr_array(arrays[:3], shape=(arrays.shape[0], self._n_features))
        X.has_canonical_format = True  # the reader rejects anything else
        return X, arrays.labels

    def _arrays(self, largest):
        """The arrays of the lines: CsrArrays; None if all of them are blank."""
        text = _bytes_of(self._path, self._begin, self._end)
        if not text.strip():
            return None
        try:
            return parsed(text, self._path, zero_based=self._zero_based, largest=largest)
        except MalformedFile as error:  # its line is one of this part
            line = error.line + _n_lines_before(self._path, self._begin)
            raise MalformedFile(error.path, line, error.column, error.problem) from None

    def width(self, largest):
        """The number of features that the lines have, read for it: int."""
        arrays = self._arrays(largest)
        return 0 if arrays is None else arrays.shape[1]


def svmlight_parts(paths, n_features, zero_based, n_bytes=TEXT_BYTES):
    """Lines of files in svmlight's format, about `n_bytes` at a time: list of LinesOfSvmlight."""
    ranges = [(path, *each) for path in paths for each in ranges_of_lines(path, n_bytes)]
    if n_features is None:
        parts = [LinesOfSvmlight(*each, 0, zero_based) for each in ranges]
        n_features = max((part.width(LARGEST_INDEX) for part in parts), default=0)
    return [LinesOfSvmlight(*each, n_features, zero_based) for each in ranges]


def ranges_of_lines(path, n_bytes, begin=0, quote=None):
    """Divide a file after the ends of lines: yields (begin, end), of about `n_bytes`.

    Parameters
    ----------
    path : str
    n_bytes : int
        A part has at least as many, but the last one.
    begin : int
        Where the first line begins.
    quote : bytes, optional
        What encloses fields, within which a line does not end.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while begin < size:
            file.seek(begin)
            text = file.read(n_bytes)
            end = begin + len(text)
            is_open = quote is not None and text.count(quote) % 2 == 1
            while end < size and (is_open or not text.endswith(b"\n")):
                text = file.readline()
                end += len(text)
                is_open ^= quote is not None and text.count(quote) % 2 == 1
            yield begin, end
            begin = end


def _bytes_of(path, begin, end):
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


def _n_lines_before(path, position):
    with open(path, "rb") as file:
        n_lines = 0
        while (left := position - file.tell()) > 0:
            n_lines += file.read(min(left, TEXT_BYTES)).count(b"\n")
        return n_lines
