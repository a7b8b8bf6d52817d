"""Chunks of tables: row groups of Parquet, and byte ranges of CSV.

Each part is an object that reads its rows when it is called, so it can be sent to other processes. A
table is read one column at a time into an array of float64, whatever the types of its numbers.
"""

import csv
import io

from margins.data.chunk_columns import columns_of, samples_of
from margins.data.csv_records import check_lengths, malformed_field, names_of, read_csv
from margins.data.files import TEXT_BYTES, bytes_of, check_not_empty, n_lines_before, ranges_of_lines
from margins.data.labels import check_present, kind_of, labels_of
from margins.data.malformed import MalformedFile
from margins.data.parquet import column_of, damage_of
from margins.data.table_values import MISSING, Distinct, WrongValue


class RowGroup:
    """Reads a row group of a Parquet file.

    Parameters
    ----------
    path : str
    index : int
    columns : TableColumns
    kind : str
        Of the labels: "numbers", "boolean" or "text".
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
        """The error of a WrongValue in a row of this part, with its place: ValueError."""
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
    """The row groups of Parquet files: list of RowGroup. `read_as` is a ReadAs of a command."""
    from pyarrow import parquet

    found_in, n_groups, types = [], [], []
    for path in paths:
        try:
            with parquet.ParquetFile(path) as file:
                schema = file.schema_arrow
                found_in.append((path, _columns_in(schema)))
                n_groups.append(file.num_row_groups)
                types.append(dict(zip(schema.names, schema.types, strict=True)))
        except Exception as error:  # pyarrow's errors have many types
            raise ValueError(f"{path}: {damage_of(path)}.") from error
    chosen = columns_of(found_in, target, columns, categories, weight)._replace(read_as=read_as)
    kinds = [_kind_of_type(types_in_file[target]) for types_in_file in types]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"{path}: the labels {target!r} must be {kinds[0]}, as in {paths[0]}. Got {kind}."
            )
    parts = [
        RowGroup(path, index, chosen, kinds[0])
        for path, n in zip(paths, n_groups, strict=True)
        for index in range(n)
    ]
    check_not_empty(parts, paths, "Chunks.from_parquet")
    return parts


def _kind_of_type(arrow_type):
    """What labels of a type of pyarrow are: "numbers", "boolean" or "text"."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_boolean(arrow_type):
        return "boolean"
    tests = (types.is_integer, types.is_floating, types.is_decimal)
    return "numbers" if any(test(arrow_type) for test in tests) else "text"


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
        """The error of a WrongValue in a row of this part, with its place in the file: MalformedFile."""
        contents = self._contents()
        try:
            check_lengths(contents, self.path)
            return self._moved(malformed_field(contents, self.path, error))
        except MalformedFile as error_of_length:
            return self._moved(error_of_length)

    def _moved(self, error):
        """An error whose line is one of this part, with that of the file: MalformedFile."""
        return error.moved(n_lines_before(self.path, self._begin) - self._header.count(b"\n"))

    def _contents(self):
        return self._header + bytes_of(self.path, self._begin, self._end)

    def _read(self, contents, names=None):
        try:
            return read_csv(contents, self.path, self.columns.texts, names)
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
        """What the labels are, as `margins.data.labels.kind_of` says; None if they are not allowed."""
        try:
            table = self._read(self._contents(), [self.columns.target])
            labels = Distinct(table[self.columns.target])
            check_present(labels, MISSING)
            return kind_of(labels)
        except (ValueError, WrongValue):
            return None  # the error comes when the part is read

    def with_kind(self, kind):
        """The same lines, whose labels are of a kind: LinesOfCsv."""
        part = LinesOfCsv(self.path, self._header, self._begin, self._end, self.columns)
        part._kind = kind
        return part


def csv_parts(paths, target, columns, categories, weight, n_bytes=TEXT_BYTES, read_as=None):
    """Lines of CSV files with a header, about `n_bytes` of them at a time: list of LinesOfCsv.

    The first of several parts is read to see what the labels are, so that they are the same in all
    parts, unless `read_as`, a ReadAs of a command, says it.
    """
    headers = [_header_of(path) for path in paths]
    found_in = [(path, names) for path, (_, names) in zip(paths, headers, strict=True)]
    chosen = columns_of(found_in, target, columns, categories, weight)._replace(read_as=read_as)
    parts = [
        LinesOfCsv(path, header, begin, end, chosen)
        for path, (header, _) in zip(paths, headers, strict=True)
        for begin, end in ranges_of_lines(path, n_bytes, len(header), has_quotes=True)
    ]
    check_not_empty(parts, paths, "Chunks.from_csv")
    if read_as is not None or len(parts) == 1:
        return parts
    kind = parts[0].kind()
    return [part.with_kind(kind) for part in parts]


def _header_of(path):
    """The first line of a CSV file, and the names in it: bytes, list of str."""
    _, end = next(ranges_of_lines(path, 1, has_quotes=True), (0, 0))
    header = bytes_of(path, 0, end)
    try:
        [names] = csv.reader(io.StringIO(header.decode("utf-8-sig"), newline=""))
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: must be CSV in UTF-8 that begins with a header: {error}") from error
    return header, names_of(names)
