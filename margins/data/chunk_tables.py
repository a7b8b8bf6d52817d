"""Chunks of tables: row groups of Parquet, and byte ranges of CSV.

Each part is an object that reads its rows when it is called, so it can be sent to other processes. A
table is read one column at a time into an array of float64, whatever the types of its numbers.
"""

import csv
import io

from margins.data.chunk_columns import columns_of, samples_of
from margins.data.files import TEXT_BYTES, bytes_of, ranges_of_lines

# Fields of CSV that stand for a missing value, but of categories.
MISSING = frozenset(
    ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "n/a", "#N/A", "<NA>", "-nan", "-NaN")
)


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

        text = self._header + bytes_of(self._path, self._begin, self._end)
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
    header = bytes_of(path, 0, end)
    try:
        [names] = csv.reader(io.StringIO(header.decode("utf-8-sig"), newline=""))
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: must be CSV in UTF-8 that begins with a header: {error}") from error
    return header, names
