"""Samples from tables; a value that is not allowed is reported with its place."""

import csv
import functools
import io
import shlex

from margins.cli.errors import CommandError, samples_in_files, unreadable
from margins.cli.files import contents_of
from margins.readers.csv import CsvTable, header_of
from margins.readers.labels import check_present, labels_like, labels_to_train_on
from margins.readers.parquet import ParquetTable, names_of_features
from margins.readers.tables import (
    categories_of,
    check_names,
    check_same_columns,
    codes_of,
    kind_in_all,
    located,
)
from margins.readers.values import text_of

TOO_SMALL = "must hold at least one sample and one feature."
HINT = " If these are categories, give --categorical {name}."


def read_table(source, needs_labels, trained):
    """Return X and y of a table, as a model reads them, and texts that count its unknown categories."""
    source.check_options(needs_labels)
    table, unknown = table_of(source), []
    with samples_in_files(), located(table):
        X, labels = features_of(source, table, needs_labels, trained, unknown)
        return X, labels_like(labels, trained.classes) if needs_labels else None, unknown


def read_tables(sources):
    """Return X and y of all rows of tables, whose columns and kinds of labels are those of the first."""
    import pandas

    frames, parts, headers, kinds = [], [], {}, {}
    for source in sources:
        source.check_options(needs_labels=True)
        table = table_of(source)
        with samples_in_files(), located(table):
            X, labels = features_of(source, table, True)
            headers[source.path] = names_of_features(table.names, table.widths)
            kinds[source.path] = labels.kind
            check_same_columns(headers)
            kind_in_all(source.target, kinds)
        # Standard input cannot be read again for the place of a wrong label.
        reread = functools.partial(table_of, source) if len(sources) > 1 else lambda table=table: table
        frames.append(X)
        parts.append((reread, labels, len(X)))
    with samples_in_files():
        y = labels_to_train_on(parts)
    if len(frames) == 1:
        return frames[0], y
    return pandas.concat([X[list(frames[0])] for X in frames], ignore_index=True), y


def table_of(source):
    """Return the CsvTable or ParquetTable of a file."""
    contents = contents_of(source.path)
    with samples_in_files():
        if source.kind == "csv":
            names, begin = header_of(io.BytesIO(contents), source.path, source.delimiter)
            table = CsvTable(source.path, names, source.delimiter, contents, begin)
        elif source.kind == "arff":
            table = ParquetTable(source.path, _parquet_of_arff(contents, source.path))
        else:
            table = ParquetTable(source.path, io.BytesIO(contents))
    if not len(table):
        raise unreadable(f"{source.path}: {TOO_SMALL}")
    return table


def _parquet_of_arff(contents, path):
    """Return the rows of an ARFF file as a Parquet file in memory."""
    import pyarrow
    from pyarrow import parquet
    from scipy.io import arff

    limit = csv.field_size_limit()
    try:
        rows, _ = arff.loadarff(io.StringIO(contents.decode()))
    except Exception as error:  # SciPy raises errors of many types
        problem = f"SciPy cannot read it as ARFF: {type(error).__name__}: {error}. Convert it to CSV."
        raise unreadable(f"{path}: {problem}") from error
    finally:
        csv.field_size_limit(limit)  # SciPy raises it, for all files of the process
    columns = {name: rows[name] for name in rows.dtype.names}
    for name, values in columns.items():
        if values.dtype.kind == "S":
            columns[name] = [None if value == b"?" else value.decode() for value in values.tolist()]
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return file


def features_of(source, table, needs_labels, trained=None, unknown=None):
    """Return X, with str in categories, and labels; `unknown` gets texts on categories not `trained`."""
    import pandas

    target = source.target if needs_labels else None
    categorical = source.categorical if trained is None else tuple(trained.categories)
    names = [] if trained is None else trained.names
    features = {
        feature: name for name in table.names for feature in names_of_features([name], table.widths)
    }
    encoded = {} if categorical else categories_of(names, table.names)  # of a model of Chunks
    features |= {f"{name}={value}": name for name, values in encoded.items() for value in values}
    check_names(source.path, features, names, unreadable)
    named = [*source.categorical, *([target] if needs_labels else ())]
    check_names(source.path, table.names, named, CommandError)
    if needs_labels and target in (*categorical, *names):
        raise CommandError(f"{source.path}: the target {target!r} cannot also be a column of X.")
    names = names or [feature for feature, name in features.items() if name != source.target]
    if not names:
        raise unreadable(f"{source.path}: {TOO_SMALL}")
    X = {}
    for name in dict.fromkeys(features[feature] for feature in names):
        column = table.column(name)
        if name in categorical:
            X[name] = _categories(column, trained, unknown)
        elif name in encoded:
            codes, values = codes_of(column, encoded[name]), encoded[name]
            X |= {f"{name}={value}": codes == code for code, value in enumerate(values)}
        elif name in table.widths:
            vectors = column.vectors(table.widths[name])
            X |= zip(names_of_features([name], table.widths), vectors.T, strict=True)
        else:
            X[name] = column.numbers(HINT.format(name=shlex.quote(name)))
    X = pandas.DataFrame(X, columns=names)
    labels = table.column(target).distinct() if needs_labels else None
    if needs_labels:
        check_present(labels, table.missing)
    return X, labels


def _categories(column, trained, unknown):
    """Return the categories of a column as an ndarray of str objects, in the model's notation."""
    categories = column.distinct()
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
