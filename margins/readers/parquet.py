"""Parquet by pyarrow, one column of a row group at a time; an error says which part is damaged."""

from typing import NamedTuple

from margins.readers.files import check_not_empty
from margins.readers.values import Column, are_vectors, kind_of_type, names_of_elements, storage_of


class ParquetTable:
    """Rows of a Parquet file, a path or a binary file: all of them, or a row group."""

    missing = frozenset(("",))

    def __init__(self, path, source, group=None):
        self.path, self._group = path, group
        self._file, self.names, self.widths = opened(path, source)
        self._groups = range(self._file.num_row_groups) if group is None else [group]

    def __len__(self):
        return sum(self._file.metadata.row_group(group).num_rows for group in self._groups)

    def column(self, name):
        """Return a Column, or raise a ValueError if it is damaged."""
        from pyarrow import chunked_array

        arrays = [column_of(self._file, self.path, group, name) for group in self._groups]
        type_ = arrays[0].type if arrays else self._file.schema_arrow.field(name).type
        return Column(name, chunked_array([chunk for array in arrays for chunk in array.chunks], type_))

    def located(self, error):
        """Return the ValueError for a WrongValue, with its place."""
        place = ":" if self._group is None else f", row group {self._group},"
        return ValueError(f"{self.path}{place} row {error.row}: {error}")


class RowGroup(NamedTuple):
    """Reader of a row group of a Parquet file, as a ParquetTable."""

    path: str
    group: int
    n_rows: int
    names: list[str]
    kinds: dict[str, str]  # of the values of each column, by `kind_of_type`
    widths: dict[str, int]  # of the columns of vectors

    def __call__(self, columns=None):
        return ParquetTable(self.path, self.path, self.group)


def row_groups(paths):
    """Return the row groups of Parquet files that have rows (list of RowGroup)."""
    parts = []
    for path in paths:
        file, names, widths = opened(path, path)
        kinds = {name: kind_of_type(file.schema_arrow.field(name).type) for name in names}
        for group in range(file.num_row_groups):
            if n_rows := file.metadata.row_group(group).num_rows:
                parts.append(RowGroup(path, group, n_rows, names, kinds, widths))
    check_not_empty(parts, paths, "Chunks.from_parquet")
    return parts


def opened(path, source):
    """Return the ParquetFile of a path or a binary file, its columns but pandas' index, and widths."""
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(source)
        names, schema = file.schema_arrow.names, file.schema_arrow
    except Exception as error:  # pyarrow raises errors of many types
        problem = f"is not a Parquet file, or its footer is damaged: {first_line(error)}"
        raise ValueError(f"{path}: {problem}.") from error
    try:
        metadata = schema.pandas_metadata
        index = [] if metadata is None else metadata["index_columns"]
        index = {each for each in index if isinstance(each, str)}
        if not index <= set(names):
            raise KeyError
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: its pandas metadata is damaged.") from error
    widths = {} if len(set(names)) < len(names) else widths_of(file, path)
    features = names_of_features(names, widths)
    if len(set(features)) < len(features):
        twice = next(name for name in features if features.count(name) > 1)
        raise ValueError(f"{path}: every column must have a different name. Got {twice!r} twice.")
    return file, [name for name in names if name not in index], widths


def names_of_features(names, widths):
    """Return the names of the features in columns, some of which may hold vectors (list of str)."""
    elements = [names_of_elements(name, widths[name]) if name in widths else [name] for name in names]
    return [name for names in elements for name in names]


def widths_of(file, path):
    """Return the lengths of vectors in columns of a ParquetFile (dict of int); lists: of the first."""
    from pyarrow import compute

    widths = {field.name: field.type for field in file.schema_arrow if are_vectors(field.type)}
    for name, type_ in widths.items():
        widths[name] = getattr(storage_of(type_), "list_size", None)
        if widths[name] is None:
            try:
                batch = next(file.iter_batches(100, columns=[name]), None)
                lengths = [] if batch is None else compute.list_value_length(batch.column(0)).drop_null()
            except Exception as error:  # pyarrow raises errors of many types
                problem = f"column {name!r} is damaged: {first_line(error)}"
                raise ValueError(f"{path}: {problem}.") from error
            widths[name] = lengths[0].as_py() if len(lengths) else 0
    return widths


def column_of(file, path, group, name):
    """Return a column of a row group of a ParquetFile (ChunkedArray), or raise a ValueError."""
    n_rows = file.metadata.row_group(group).num_rows
    try:
        # One thread is enough: other threads read other row groups.
        table = file.read_row_group(group, columns=[name], use_threads=False)
        table.validate(full=True)  # text is UTF-8, and arrays have their lengths
        if table.num_rows != n_rows:
            raise ValueError(f"{table.num_rows} values for {n_rows} rows")
        return table.column(0)
    except Exception as error:  # pyarrow raises errors of many types
        problem = f"row group {group}, column {name!r} is damaged: {first_line(error)}"
        raise ValueError(f"{path}: {problem}.") from error


def first_line(error):
    """Return the type of an error and the first line of its message (str)."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
