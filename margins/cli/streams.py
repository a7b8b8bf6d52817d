"""Training from files that are never entirely in memory: the model, and the chunks of the files.

A first pass collects the facts that a fit in memory knows about all samples: categories, classes, the
number of features and, for --scale, their largest absolute values. The steps before the classifier are
fitted to these.
"""

import functools
import warnings

from margins.cli.errors import CommandError, samples_in_files, unreadable
from margins.cli.samples import MOST_FEATURES, name_of, note_of


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
        source.check_options(needs_labels=True)


def model_and_chunks(classifier, scale, sources):
    """Read all files once; return the model, chunks for its classifier, their shape, and notes."""
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
    extremes, shape = sparse.csr_array(largest[np.newaxis]), (sum(rows.values()), len(largest))
    return _prepared(model, extremes, chunks, shape, notes)


def _of_tables(classifier, sources, scale):
    import numpy as np

    from margins.cli.models import with_columns
    from margins.cli.tables import features_of
    from margins.data.chunks import Chunks
    from margins.readers.columns import check_same_columns
    from margins.readers.csv import lines_of_csv
    from margins.readers.labels import labels_like, labels_to_train_on
    from margins.readers.parquet import row_groups
    from margins.readers.tables import kind_in_all, located
    from margins.readers.values import Distinct

    source, paths = sources[0], [source.path for source in sources]
    parts = lines_of_csv(paths, source.delimiter) if source.kind == "csv" else row_groups(paths)
    check_same_columns({part.path: part.names for part in parts})
    rows, kinds, read, names = dict.fromkeys(paths, 0), {}, [], []
    categories, largest = {name: set() for name in source.categorical}, {}

    def samples_of(part, labels_of):
        table = part()
        with located(table):
            X, labels = features_of(source, table, True)
            names.extend([] if names else X)
            return X[names], labels_of(labels)

    for part in parts:
        X, labels = samples_of(part, Distinct.reduced)
        rows[part.path] += len(X)
        kinds[part.path] = labels.kind
        for name in X:
            if name in categories:
                categories[name].update(X[name].unique())
            else:
                largest[name] = max(largest.get(name, 0.0), float(X[name].abs().max()))
        read.append((part, labels, len(X)))
    _check_rows(rows)
    kind_in_all(source.target, kinds)
    classes = np.unique(labels_to_train_on(read))
    extremes = _extremes(names, categories, largest)
    model = with_columns(classifier, source, extremes, scale)
    of_classes = functools.partial(labels_like, classes=classes)
    chunks = Chunks([functools.partial(samples_of, part, of_classes) for part in parts])
    return _prepared(model, extremes, chunks, (sum(rows.values()), len(names)), [])


def _extremes(names, categories, largest):
    """Return a small data frame whose categories and largest numbers fit a step as all samples would."""
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
    """Return the results of `model_and_chunks`; steps before the classifier are fitted to `extremes`."""
    if hasattr(model, "steps"):
        steps = model[:-1].fit(extremes)
        if "scale" in model.named_steps:
            model.named_steps["scale"].n_samples_seen_ = shape[0]
        chunks = chunks.map(steps.transform)
    return model, chunks, shape, notes


def _check_rows(rows):
    """Raise CommandError if a file has no sample; `rows` has the number of rows of each path."""
    for path, n_rows in rows.items():
        if n_rows == 0:
            raise unreadable(f"{path}: must hold at least one sample and one feature.")
