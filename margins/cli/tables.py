"""Samples from tables, read by pandas; malformed fields are reported with their place."""

import io
from typing import Any, NamedTuple

from margins.cli.errors import CommandError, samples_in_files, samples_of, unreadable
from margins.cli.files import contents_of
from margins.readers.columns import check_same_columns
from margins.readers.csv import check_lengths, hint_of_delimiter, malformed_field, read_csv
from margins.readers.labels import check_present, labels_like, labels_to_train
from margins.readers.values import MISSING, Distinct, WrongValue, numbers_of, text_of

HINT = " If these are categories, give --categorical {name}."


class ColumnsOfFile(NamedTuple):
    """The features and the target of a file."""

    source: Any  # Source
    contents: bytes | None  # of the file; None: not kept, an error message reads the file again
    X: Any  # pandas.DataFrame; categories are str, all other columns float64
    labels: Any  # pandas.Series as it is in the file, or None
    unknown: list[str]  # for each column, the categories that a model lacks


def read_table(source, needs_labels, trained=None):
    """Return X, y and unknown categories of a table: a data frame, ndarray or None, list of str.

    Categories are str, all other columns float64. With `trained`, the TrainingColumns of a model, X has
    the model's columns, and labels are read as its classes; each text counts the categories of a column
    that the model lacks. With None, the samples are for a fit.
    """
    table = _read(source, needs_labels, trained)
    return table.X, _labels_of([table], trained) if needs_labels else None, table.unknown


def read_tables(sources):
    """Return X and y of all rows of several tables, in this order, for a fit: a data frame, ndarray.

    All tables must have the columns of the first, in any order, and labels of the same kind.
    """
    import pandas

    tables = []
    for source in sources:
        table = _read(source, True)._replace(contents=None)
        if tables:
            with samples_in_files():
                check_same_columns(source.path, list(table.X), sources[0].path, list(tables[0].X))
            _check_kind(table, tables[0])
        tables.append(table)
    y = _labels_of(tables)
    return pandas.concat([table.X[list(tables[0].X)] for table in tables], ignore_index=True), y


def check_options(source, needs_labels):
    """Raise CommandError if an option is not for tables, or if --target is needed but missing."""
    if source.zero_based:
        raise CommandError(
            f"{source.path}: --zero-based is for svmlight's format, but this file is read as a table. "
            "Leave it out, or give --format svmlight."
        )
    source.check_delimiter()
    if needs_labels and source.target is None:
        raise CommandError(f"{source.path}: a table needs --target NAME, the label column.")


def _read(source, needs_labels, trained=None):
    """Return the ColumnsOfFile of a file."""
    check_options(source, needs_labels)
    target = source.target
    categorical = source.categorical if trained is None else tuple(trained.categories)
    names = [] if trained is None else trained.names
    contents = contents_of(source.path)
    texts = {*categorical, *([target] if needs_labels else ())}
    if source.kind == "csv":
        with samples_of(source.path):
            table = read_csv(contents, source.path, texts, delimiter=source.delimiter)
    else:
        table = _read_parquet(contents, source.path)
    columns = [str(name) for name in table.columns]
    table.columns = columns
    _check_columns(source.path, columns, names, [*source.categorical, *texts])
    if needs_labels and target in (*categorical, *names):
        raise CommandError(f"{source.path}: the target {target!r} cannot also be a column of X.")
    features = names or [name for name in columns if name != target]
    if not features or not len(table):
        raise unreadable(f"{source.path}: must hold at least one sample and one feature.")
    unknown = []
    try:
        for name in features:
            if name in categorical:
                table[name] = _categories(table[name], trained, unknown)
            else:
                table[name] = numbers_of(table[name], HINT.format(name=name))
        if needs_labels:
            check_present(Distinct(table[target]), MISSING if source.kind == "csv" else {""})
    except WrongValue as error:
        raise _located(source, contents, error) from None
    labels = table[target] if needs_labels else None
    return ColumnsOfFile(source, contents, table[features], labels, unknown)


def _labels_of(tables, trained=None):
    """Return the labels of all rows of tables, as in `read_table`: ndarray."""
    import pandas

    first = tables[0]
    column = first.labels
    if len(tables) > 1:
        column = pandas.concat([table.labels for table in tables], ignore_index=True)
    labels = Distinct(column)
    try:
        return labels_to_train(labels) if trained is None else labels_like(labels, trained.classes)
    except WrongValue as error:
        for table in tables:
            if error.row < len(table.labels):
                break
            error.row -= len(table.labels)
        source, contents = table.source, table.contents
        contents = contents_of(source.path) if contents is None else contents
        raise _located(source, contents, error) from None


def _check_kind(table, first):
    """Raise CommandError if the labels of a Parquet file differ in kind from the first table's."""
    names = {"b": "boolean", "i": "numbers", "u": "numbers", "f": "numbers"}
    kinds = [names.get(labels.dtype.kind, "text") for labels in (table.labels, first.labels)]
    if kinds[0] != kinds[1]:
        raise unreadable(
            f"{table.source.path}: the labels {table.source.target!r} must be {kinds[1]}, as in "
            f"{first.source.path}. Got {kinds[0]}."
        )


def _categories(column, trained, unknown):
    """Return the categories of a column as an ndarray of str objects, in the model's notation.

    Append to `unknown` a text that counts the categories that the model does not have.
    """
    categories = Distinct(column)
    if trained is None:
        return categories.mapped(text_of)
    known = {text_of(category): category for category in trained.categories[column.name]}
    missing = dict.fromkeys(text for text in map(text_of, categories.values) if text not in known)
    if missing:
        n_rows = int(categories.mapped(lambda category: text_of(category) not in known, bool).sum())
        unknown.append(
            f"{len(missing)} of {column.name!r} in {n_rows} rows, such as {next(iter(missing))!r}"
        )
    return categories.mapped(lambda category: known.get(text_of(category), text_of(category)))


def _check_columns(path, columns, of_model, of_options):
    """Raise CommandError if two columns have the same name, or a needed column is missing."""
    for position, name in enumerate(columns):
        if name in columns[:position]:
            raise unreadable(
                f"{path}: every column must have a different name. Got {name!r} for columns "
                f"{columns.index(name) + 1} and {position + 1}."
            )
    for names, error in ((of_model, unreadable), (of_options, CommandError)):
        missing = [name for name in names if name not in columns]
        if missing:
            allowed = ", ".join(map(repr, columns))
            hint = hint_of_delimiter(columns)
            raise error(f"{path}: there is no column {missing[0]!r}. Columns: {allowed}.{hint}")


def _read_parquet(contents, path):
    from pyarrow import parquet

    from margins.readers.parquet import checked, damage_of

    try:
        table = checked(parquet.read_table(io.BytesIO(contents)))
        frame = table.to_pandas()
        if not {str(name) for name in frame.columns} <= set(table.column_names):
            raise ValueError("pandas finds columns that the file does not have")
        return frame
    except Exception as error:  # pyarrow and pandas raise many types for a damaged file
        raise unreadable(f"{path}: {damage_of(io.BytesIO(contents))}.") from error


def _located(source, contents, error):
    """Return the exception for a value that is not allowed, with its place in the file."""
    if source.kind == "csv":
        check_lengths(contents, source.path, source.delimiter)
        return malformed_field(contents, source.path, error, source.delimiter)
    return unreadable(f"{source.path}: row {error.row}: {error}")
