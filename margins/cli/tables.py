"""Samples from tables, by pandas: what is malformed is reported with its place."""

import io

from margins.cli.errors import CommandError, samples_of, unreadable
from margins.cli.files import contents_of
from margins.data.csv_records import check_lengths, malformed_field, read_csv
from margins.data.labels import check_present, labels_like, labels_to_train
from margins.data.table_values import MISSING, Distinct, WrongValue, numbers_of, text_of


def read_table(source, needs_labels, trained=None):
    """X, y and unknown categories of a table: a data frame, ndarray or None, list of str.

    Categories are str, all other columns float64. `trained`, a TrainingColumns, is what a model was
    trained on, whose columns X has, and whose categories and labels those of the file are compared with;
    None: the samples are for a fit. Each text says of one column which categories the model lacks.
    """
    try:
        import pandas  # noqa: F401
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
    categorical = source.categorical if trained is None else tuple(trained.categories)
    names = [] if trained is None else trained.names
    contents = contents_of(source.path)
    texts = {*categorical, *([target] if needs_labels else ())}
    if source.kind == "csv":
        with samples_of(source.path):
            table = read_csv(contents, source.path, texts)
    else:
        table = _read_parquet(contents, source.path)
    columns = [str(name) for name in table.columns]
    table.columns = columns
    _check_columns(source.path, columns, names, [*source.categorical, *texts])
    if needs_labels and target in (*categorical, *names):
        raise CommandError(f"{source.path}: the target {target!r} cannot be a column of X.")
    features = names or [name for name in columns if name != target]
    if not features or not len(table):
        raise unreadable(f"{source.path}: must hold at least one sample and one feature.")
    y, unknown = None, []
    try:
        for name in features:
            if name in categorical:
                table[name] = _categories(table[name], trained, unknown)
            else:
                hint = f" If these are categories, give --categorical {name}."
                table[name] = numbers_of(table[name], hint)
        if needs_labels:
            labels = Distinct(table[target])
            check_present(labels, MISSING if source.kind == "csv" else {""})
            y = labels_to_train(labels) if trained is None else labels_like(labels, trained.classes)
    except WrongValue as error:
        raise _located(source, contents, error) from None
    return table[features], y, unknown


def _categories(column, trained, unknown):
    """The categories of a column: ndarray of str objects, those of a model as the model has them.

    Adds to `unknown` a text that counts the ones that the model does not have.
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


def _read_parquet(contents, path):
    from margins.data.parquet import checked, damage_of

    try:
        from pyarrow import parquet
    except ImportError as error:
        raise CommandError(
            f"{path}: reading Parquet needs pyarrow: pip install 'scikit-margins[parquet]'"
        ) from error
    try:
        table = checked(parquet.read_table(io.BytesIO(contents)))
        frame = table.to_pandas()
        if not {str(name) for name in frame.columns} <= set(table.column_names):
            raise ValueError("names of columns that the file does not have")
        return frame
    except Exception as error:  # of a damaged file, pyarrow and pandas raise errors of many types
        raise unreadable(f"{path}: {damage_of(io.BytesIO(contents))}.") from error


def _located(source, contents, error):
    """The error of a value that is not allowed, with its place: an exception."""
    if source.kind == "csv":
        check_lengths(contents, source.path)
        return malformed_field(contents, source.path, error)
    return unreadable(f"{source.path}: row {error.row}: {error}")
