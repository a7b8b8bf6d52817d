"""Training from files that are never entirely in memory: the model, and the chunks of the files.

A first pass collects the facts that a fit in memory knows about all samples: categories, classes, the
number of features and, for --scale, their largest absolute values. The steps before the classifier are
fitted to these.
"""

import warnings
from typing import Any, NamedTuple

from margins.cli.errors import CommandError, samples_in_files, unreadable
from margins.cli.samples import MOST_FEATURES, check_options, name_of, note_of


class Streamed(NamedTuple):
    """A model and the chunks of files to fit it to."""

    model: Any  # the classifier, or a Pipeline whose other steps are fitted
    chunks: Any  # Chunks of samples for the classifier, after the other steps
    shape: tuple[int, int]  # numbers of samples and features in the files
    notes: list[str]  # notes printed about the files


def check_streamed(classifier, sources, reason):
    """Raise CommandError, before any work, if a classifier cannot be fitted to chunks."""
    from margins.data.chunks import Chunks
    from margins.estimators.partitioned import is_streamed

    why = f"{name_of(sources)}: would be streamed, because {reason}."
    if not hasattr(classifier, "why_not_in_partitions"):
        raise CommandError(
            f"{why} {type(classifier).__name__} cannot be fitted to chunks. Use another algorithm."
        )
    try:
        is_streamed(classifier, Chunks([()]))
    except ValueError as error:
        raise CommandError(f"{why} {error}") from error
    for source in sources:
        if not source.is_table:
            check_options(source)
        else:
            from margins.cli.tables import check_options as check_options_of_table

            check_options_of_table(source, True)


def model_and_chunks(classifier, scale, sources):
    """Read all files once, and return their Streamed."""
    with samples_in_files():
        if sources[0].is_table:
            return _of_tables(classifier, sources, scale)
        return _of_svmlight(classifier, sources, scale)


def _of_svmlight(classifier, sources, scale):
    import numpy as np
    from scipy import sparse

    from margins.cli.models import with_columns
    from margins.data.chunks import Chunks
    from margins.readers.svmlight import svmlight_parts

    paths, zero_based = [source.path for source in sources], sources[0].zero_based
    rows, largest = dict.fromkeys(paths, 0), np.zeros(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for part in svmlight_parts(paths, MOST_FEATURES, zero_based, option="--zero-based"):
            X, y = part()
            rows[part.path] += len(y)
            n_features = max(len(largest), int(X.indices.max(initial=-1)) + 1)
            largest = np.pad(largest, (0, n_features - len(largest)))
            np.maximum.at(largest, X.indices, np.abs(X.data))
    notes = [str(warning.message) for warning in caught]
    for note in notes:
        note_of(sources[0], note)
    _check_rows(rows)
    if not len(largest):
        raise unreadable(f"{name_of(sources)}: must hold at least one feature.")
    chunks = Chunks.from_svmlight(paths, n_features=len(largest), zero_based=zero_based)
    model = with_columns(classifier, sources[0], None, scale)
    return _prepared(
        model, sparse.csr_array(largest[np.newaxis]), chunks, (sum(rows.values()), len(largest)), notes
    )


def _of_tables(classifier, sources, scale):
    import numpy as np
    import pandas

    from margins.cli.models import with_columns
    from margins.cli.tables import HINT
    from margins.data.chunks import Chunks
    from margins.readers.columns import ReadAs
    from margins.readers.labels import labels_among, labels_to_train
    from margins.readers.values import Distinct, WrongValue

    source = sources[0]
    paths, categorical = [source.path for source in sources], source.categorical
    rows, largest, labels = dict.fromkeys(paths, 0), {}, []
    categories = {name: set() for name in categorical}
    read_as = ReadAs(lambda labels: labels.column, frozenset(categorical), HINT)
    for part in _parts(sources, read_as):
        X, y = part()
        rows[part.path] += len(y)
        for name in X:
            if name in categories:
                categories[name].update(X[name].unique())
            else:
                largest[name] = max(largest.get(name, 0.0), float(X[name].abs().max()))
        labels.append((part, y.drop_duplicates()))
    _check_rows(rows)
    distinct = pandas.concat([values for _, values in labels], ignore_index=True).rename(source.target)
    try:
        classes = np.unique(labels_to_train(Distinct(distinct)))
    except WrongValue as error:
        ends = np.cumsum([len(values) for _, values in labels])
        index = int(np.searchsorted(ends, error.row, side="right"))
        part, values = labels[index]
        error.row = int(values.index[error.row - ends[index]])  # counted within the part
        raise part.located(error) from None
    read_as = read_as._replace(labels=lambda labels: labels_among(labels, classes))
    extremes = _extremes(list(X), categories, largest)
    model = with_columns(classifier, source, extremes, scale)
    chunks = Chunks(_parts(sources, read_as))
    return _prepared(model, extremes, chunks, (sum(rows.values()), len(extremes.columns)), [])


def _parts(sources, read_as):
    """Return the parts of tables: list of RowGroup or LinesOfCsv."""
    source, paths = sources[0], [source.path for source in sources]
    from margins.readers.tables import csv_parts, parquet_parts

    options = {"read_as": read_as}
    if source.kind == "csv":
        parts = csv_parts(paths, source.target, None, None, None, delimiter=source.delimiter, **options)
    else:
        parts = parquet_parts(paths, source.target, None, None, None, **options)
    names = parts[0].columns.names
    for name in source.categorical:
        if name not in names:
            columns = ", ".join(map(repr, names))
            raise CommandError(f"{source.path}: X has no column {name!r}. Columns: {columns}.")
    return parts


def _extremes(names, categories, largest):
    """Return a small data frame with every category and the largest absolute value of each number.

    Fitting a step to it gives the same step as fitting it to all samples.
    """
    import pandas

    ordered = {name: sorted(values) for name, values in categories.items()}
    n_rows = max(map(len, ordered.values()), default=1)
    return pandas.DataFrame(
        {
            name: pandas.Series((ordered[name] + ordered[name][:1] * n_rows)[:n_rows], dtype=object)
            if name in ordered
            else [largest[name]] * n_rows
            for name in names
        }
    )


def _prepared(model, extremes, chunks, shape, notes):
    """Return the Streamed of a model whose steps before the classifier are fitted to `extremes`."""
    if hasattr(model, "steps"):
        steps = model[:-1].fit(extremes)
        if "scale" in model.named_steps:
            model.named_steps["scale"].n_samples_seen_ = shape[0]
        chunks = chunks.map(steps.transform)
    return Streamed(model, chunks, shape, notes)


def _check_rows(rows):
    """Raise CommandError if a file has no sample; `rows` has the number of rows of each path."""
    for path, n_rows in rows.items():
        if n_rows == 0:
            raise unreadable(f"{path}: must hold at least one sample and one feature.")
