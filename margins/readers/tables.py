"""Chunks of tables: row groups of Parquet, and byte ranges of CSV.

Each part is an object that reads its rows when it is called, so it can be sent to other processes. A
table is read one column at a time into a float64 array, regardless of the types of its numbers.
"""

import csv
import io

from margins.readers.columns import columns_of, samples_of
from margins.readers.csv import check_delimiter, check_lengths, malformed_field, names_of, read_csv
from margins.readers.files import TEXT_BYTES, bytes_of, check_not_empty, n_lines_before, ranges_of_lines
from margins.readers.labels import check_present, kind_of, labels_of
from margins.readers.malformed import MalformedFile
from margins.readers.parquet import column_of, damage_of
from margins.readers.values import MISSING, Distinct, WrongValue


class RowGroup:
    """Reader of a row group of a Parquet file.

    Parameters
    ----------
    path : str
    index : int
    columns : TableColumns
    kind : str
        Kind of the labels: "numbers", "boolean" or "text".
    """

    def __init__(self, path, index, columns, kind):
        self.path, self._index, self.columns, self._kind = path, index, columns, kind

    def __call__(self):
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:

            def values_of(name):
                try:
                    return column_of(file, self._index, name)
                except ValueError as error:
                    raise ValueError(f"{self.path}: {error}.") from error

            try:
                return samples_of(self.columns, values_of, self._labels)
            except WrongValue as error:
                raise self.located(error) from None

    def located(self, error):
        """Return the ValueError for a WrongValue in a row of this part, with its place."""
        return ValueError(f"{self.path}, row group {self._index}, row {error.row}: {error}")

    def _labels(self, column):
        labels = Distinct(column)
        check_present(labels)
        if self.columns.read_as is not None:
            return self.columns.read_as.labels(labels)
        if labels.kind in "biuf":
            return column.to_numpy()
        return labels_of(labels, "text" if self._kind == "text" else kind_of(labels))


def parquet_parts(paths, target, columns, categories, weight, read_as=None):
    """Return the row groups of Parquet files (list of RowGroup); a command sets `read_as` (ReadAs)."""
    from pyarrow import parquet

    tables, n_groups, types = [], [], []
    for path in paths:
        try:
            with parquet.ParquetFile(path) as file:
                schema = file.schema_arrow
                tables.append((path, _columns_in(schema)))
                n_groups.append(file.num_row_groups)
                types.append(dict(zip(schema.names, schema.types, strict=True)))
        except Exception as error:  # pyarrow raises errors of many types
            raise ValueError(f"{path}: {damage_of(path)}.") from error
    table_columns = columns_of(tables, target, columns, categories, weight)._replace(read_as=read_as)
    kinds = [_kind_of_type(types_in_file[target]) for types_in_file in types]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"{path}: the labels {target!r} must be {kinds[0]}, as in {paths[0]}. Got {kind}."
            )
    parts = [
        RowGroup(path, index, table_columns, kinds[0])
        for path, n in zip(paths, n_groups, strict=True)
        for index in range(n)
    ]
    check_not_empty(parts, paths, "Chunks.from_parquet")
    return parts


def _kind_of_type(arrow_type):
    """Return the kind of labels of a pyarrow type: "numbers", "boolean" or "text"."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_boolean(arrow_type):
        return "boolean"
    tests = (types.is_integer, types.is_floating, types.is_decimal)
    return "numbers" if any(test(arrow_type) for test in tests) else "text"


def _columns_in(schema):
    """Return the columns of a Parquet file, without the pandas index (list of str)."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


class LinesOfCsv:
    """Reader of some lines of a CSV file.

    Parameters
    ----------
    path : str
    header : bytes
        The first line.
    begin, end : int
        Byte range of the lines.
    columns : TableColumns
    """

    def __init__(self, path, header, begin, end, columns):
        self.path, self._header, self._begin, self._end = path, header, begin, end
        self.columns, self._kind = columns, None

    def __call__(self):
        try:
            table = self._read(self._contents())
            return samples_of(self.columns, table.__getitem__, self._labels)
        except WrongValue as error:
            raise self.located(error) from None
        except MalformedFile as error:
            raise self._moved(error) from None

    def located(self, error):
        """Return the MalformedFile for a WrongValue in a row of this part, with its place."""
        contents = self._contents()
        try:
            check_lengths(contents, self.path, self.columns.delimiter)
            return self._moved(malformed_field(contents, self.path, error, self.columns.delimiter))
        except MalformedFile as error_of_length:
            return self._moved(error_of_length)

    def _moved(self, error):
        """Return an error of this part with its line number in the file (MalformedFile)."""
        return error.moved(n_lines_before(self.path, self._begin) - self._header.count(b"\n"))

    def _contents(self):
        return self._header + bytes_of(self.path, self._begin, self._end)

    def _read(self, contents, names=None):
        try:
            return read_csv(contents, self.path, self.columns.texts, names, self.columns.delimiter)
        except MalformedFile:
            raise
        except ValueError as error:
            place = f"{self.path}, bytes {self._begin} to {self._end}"
            raise ValueError(f"{place}: {error}") from error

    def _labels(self, column):
        labels = Distinct(column)
        check_present(labels, MISSING)
        if self.columns.read_as is not None:
            return self.columns.read_as.labels(labels)
        reason = "" if self._kind is None else ", as the first labels of the files"
        return labels_of(labels, self._kind or kind_of(labels), reason)

    def kind(self):
        """Return the kind of the labels, by `margins.readers.labels.kind_of`; None if they are wrong."""
        try:
            table = self._read(self._contents(), [self.columns.target])
            labels = Distinct(table[self.columns.target])
            check_present(labels, MISSING)
            return kind_of(labels)
        except (ValueError, WrongValue):
            return None  # reading the part raises the error

    def with_kind(self, kind):
        """Return a reader of the same lines, for labels of a kind (LinesOfCsv)."""
        part = LinesOfCsv(self.path, self._header, self._begin, self._end, self.columns)
        part._kind = kind
        return part


def csv_parts(
    paths, target, columns, categories, weight, n_bytes=TEXT_BYTES, read_as=None, delimiter=","
):
    """Divide CSV files with a header into parts of about `n_bytes` (list of LinesOfCsv).

    If there are several parts, the first is read to find the kind of the labels, which must be the same
    in all parts. A command sets `read_as` (ReadAs) instead.
    """
    check_delimiter(delimiter, "delimiter of Chunks.from_csv")
    headers = [_header_of(path, delimiter) for path in paths]
    tables = [(path, names) for path, (_, names) in zip(paths, headers, strict=True)]
    table_columns = columns_of(tables, target, columns, categories, weight)
    table_columns = table_columns._replace(read_as=read_as, delimiter=delimiter)
    parts = [
        LinesOfCsv(path, header, begin, end, table_columns)
        for path, (header, _) in zip(paths, headers, strict=True)
        for begin, end in ranges_of_lines(path, n_bytes, len(header), delimiter)
    ]
    check_not_empty(parts, paths, "Chunks.from_csv")
    if read_as is not None or len(parts) == 1:
        return parts
    kind = parts[0].kind()
    return [part.with_kind(kind) for part in parts]


def _header_of(path, delimiter):
    """Return the first line of a CSV file (bytes), and the names in it (list of str)."""
    _, end = next(ranges_of_lines(path, 1, delimiter=delimiter), (0, 0))
    header = bytes_of(path, 0, end)
    try:
        lines = io.StringIO(header.decode("utf-8-sig"), newline="")
        [names] = csv.reader(lines, delimiter=delimiter)
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: must be CSV in UTF-8 and start with a header: {error}") from error
    return header, names_of(names)
