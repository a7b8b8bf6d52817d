"""Samples from tables, by pandas; the csv module finds the place of what is malformed."""

import csv
import io
import itertools
import warnings

import numpy as np

from margins.cli.errors import CommandError, unreadable
from margins.cli.files import contents_of
from margins.cli.labels import WrongLabel, labels_of
from margins.data.chunk_tables import MISSING
from margins.data.malformed import MalformedFile


def read_table(source, needs_labels, names=None, categorical=None, classes=None):
    """X and y of a table: a data frame, categories as str and the rest as float64; ndarray or None.

    `names` are the columns of X, None: all but the target. `categorical` are those of categories, if
    `source` does not say. `classes` are those of the model that labels are compared with; None: of a
    fit.
    """
    try:
        import pandas
    except ImportError as error:
        raise CommandError(
            f"{source.path}: reading a table needs pandas: pip install 'scikit-margins[frame]'"
        ) from error
    target = source.target
    if source.zero_based:
        raise CommandError(
            f"{source.path}: --zero-based is for svmlight's format, and this file is read as a table."
        )
    if needs_labels and target is None:
        raise CommandError(f"{source.path}: a table needs --target NAME, the column of the labels.")
    categorical = source.categorical if categorical is None else categorical
    contents = contents_of(source.path)
    texts = {*categorical, *([target] if needs_labels else ())}
    if source.kind == "csv":
        table = _read_csv(pandas, contents, source.path, texts, categorical)
    else:
        table = _read_parquet(pandas, contents, source.path)
    columns = [str(name) for name in table.columns]
    table.columns = columns
    _check_columns(source.path, columns, list(names or ()), [*source.categorical, *texts])
    if needs_labels and target in (*categorical, *(names or ())):
        raise CommandError(f"{source.path}: the target {target!r} cannot be a column of X.")
    features = names or [name for name in columns if name != target]
    if not features or not len(table):
        raise unreadable(f"{source.path}: must hold at least one sample and one feature.")
    for name in features:
        if name in categorical:
            table[name] = table[name].astype(str).astype(object)
            continue
        values = _numbers(pandas, table[name])
        if values is None or not np.isfinite(values).all():
            raise _no_number(source, contents, table, name, categorical)
        table[name] = values
    y = None
    if needs_labels:
        if table[target].isna().any():
            raise _no_label(source, contents, table, target)
        try:
            y = labels_of(table[target], classes)
        except WrongLabel as error:
            raise _wrong_label(source, contents, table, target, error) from None
    return table[features], y


def _check_columns(path, columns, of_model, of_options):
    """Raise CommandError if a column is there twice, or one that is needed is not there."""
    for position, name in enumerate(columns):
        if name in columns[:position]:
            raise unreadable(
                f"{path}: every column must have a name of its own. Got {name!r} for columns "
                f"{columns.index(name) + 1} and {position + 1}."
            )
    for names, error in ((of_model, unreadable), (of_options, CommandError)):
        missing = [name for name in names if name not in columns]
        if missing:
            shown = ", ".join(map(repr, columns))
            raise error(f"{path}: there is no column {missing[0]!r}. Columns: {shown}.")


def _numbers(pandas, column):
    """A column as float64: ndarray; None if it holds something else."""
    if not (pandas.api.types.is_numeric_dtype(column) or pandas.api.types.is_bool_dtype(column)):
        return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _read_csv(pandas, contents, path, texts, categorical):
    _check_encoding(contents, path)
    if categorical:  # of a row that is too short, pandas would make empty categories
        for fault in _records_of_other_length(contents, path):
            raise fault
    line, text, header = next(_records(contents, path), (1, "", []))
    header = _names(header)
    _check_header(line, text, header, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # of rows that are too long
            return pandas.read_csv(
                io.BytesIO(contents),
                encoding="utf-8-sig",
                index_col=False,
                dtype=dict.fromkeys(texts, str),
                na_values={name: MISSING for name in header if name not in categorical},
                keep_default_na=False,
            )
    except (
        pandas.errors.ParserError,
        pandas.errors.ParserWarning,
        pandas.errors.EmptyDataError,
    ) as error:
        for fault in _records_of_other_length(contents, path):
            raise fault from error
        raise unreadable(f"{path}: is no CSV file: {error}") from error


def _check_header(line, text, header, path):
    """Raise MalformedFile if two columns have one name."""
    for position, name in enumerate(header):
        if name in header[:position]:
            raise MalformedFile(
                path,
                *_place(line, text, position),
                f"every column must have a name of its own. Got {name!r} for columns "
                f"{header.index(name) + 1} and {position + 1}.",
            )


def _names(header):
    """The names of columns, as pandas makes them of a header."""
    return [name or f"Unnamed: {position}" for position, name in enumerate(header)]


def _read_parquet(pandas, contents, path):
    try:
        return pandas.read_parquet(io.BytesIO(contents))
    except ImportError as error:
        raise CommandError(
            f"{path}: reading Parquet needs pyarrow: pip install 'scikit-margins[parquet]'"
        ) from error
    except (OSError, ValueError) as error:
        raise unreadable(f"{path}: is no Parquet file: {str(error).splitlines()[0]}") from error


def _check_encoding(contents, path):
    """Raise MalformedFile where a file is not text."""
    position = contents.find(b"\0")
    try:
        contents[: None if position < 0 else position].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        position = error.start
    if position >= 0:
        before = contents[:position]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8-sig", "replace")) + 1
        raise MalformedFile(
            path, line, column, f"must be text in UTF-8. Got the byte {contents[position]:#04x}."
        )


def _records(contents, path):
    """(line of its beginning, raw text, fields) of every record that is not blank."""
    lines = io.StringIO(contents.decode("utf-8-sig"), newline="")
    kept = []

    def keeping():
        for line in lines:
            kept.append(line)
            yield line

    line = 1
    try:
        for fields in csv.reader(keeping()):
            text = "".join(kept)
            if fields:
                yield line, text, fields
            line += len(kept)
            kept.clear()
    except csv.Error as error:  # such as a quote that is not closed
        raise MalformedFile(path, line, 1, f"is no row of CSV: {error}.") from error


def _place(line, text, field):
    """Line and column of a field of a record; of one that it does not have, those of its end."""
    commas, is_quoted = [-1], False
    for position, character in enumerate(text):
        if character == '"':
            is_quoted = not is_quoted
        elif character == "," and not is_quoted:
            commas.append(position)
    begin = commas[field] + 1 if field < len(commas) else len(text.rstrip("\r\n"))
    before = text[:begin]
    return line + before.count("\n"), len(before) - before.rfind("\n")


def _records_of_other_length(contents, path):
    """Errors of records that are not as long as the first one, the header."""
    n_fields = None
    for line, text, fields in _records(contents, path):
        if n_fields is None:
            n_fields = len(fields)
        elif len(fields) != n_fields:
            place = _place(line, text, min(n_fields, len(fields)))
            yield MalformedFile(
                path, *place, f"a row must have {n_fields} fields, as the header. Got {len(fields)}."
            )


def _no_number(source, contents, table, name, categorical):
    """The error of the first value of a column that is no finite number."""
    hint = f" If these are categories, give --categorical {name}."
    allowed = f"{name!r} must be a finite number"
    if source.kind == "csv":
        for fault in itertools.chain(
            _records_of_other_length(contents, source.path),
            _fields_that(contents, source.path, name, _is_no_number, allowed, hint),
        ):
            return fault
    for row, value in enumerate(table[name].tolist()):
        if _is_no_number(value):
            return unreadable(f"{source.path}: row {row}: {allowed}. Got {value!r}.{hint}")
    return unreadable(f"{source.path}: {allowed}.{hint}")


def _no_label(source, contents, table, target):
    """The error of the first label that is missing."""
    allowed = f"the label {target!r} must not be missing"
    if source.kind == "csv":
        for fault in itertools.chain(
            _records_of_other_length(contents, source.path),
            _fields_that(contents, source.path, target, MISSING.__contains__, allowed, ""),
        ):
            return fault
    row = int(np.flatnonzero(table[target].isna())[0])
    return unreadable(f"{source.path}: row {row}: {allowed}.")


def _wrong_label(source, contents, table, target, error):
    """The error of the first label that is not allowed."""
    allowed = f"the label {target!r} {error.allowed}"
    if source.kind == "csv":
        return next(_fields_that(contents, source.path, target, error.is_wrong, allowed, ""))
    labels = table[target].tolist()
    row = next(row for row, label in enumerate(labels) if error.is_wrong(label))
    return unreadable(f"{source.path}: row {row}: {allowed}. Got {labels[row]!r}.")


def _fields_that(contents, path, name, is_wrong, allowed, hint):
    """Errors of the fields of a column that are wrong."""
    index = None
    for line, text, fields in _records(contents, path):
        if index is None:
            index = _names(fields).index(name)
        elif is_wrong(fields[index]):
            got = repr(fields[index]) if fields[index] else "an empty field"
            yield MalformedFile(path, *_place(line, text, index), f"{allowed}. Got {got}.{hint}")


def _is_no_number(value):
    try:
        return not np.isfinite(float(value))
    except (TypeError, ValueError):
        return True
