"""Training from files that are never entirely in memory: the model, and the chunks of the files.

A first pass collects the facts that a fit in memory knows about all samples: categories, classes, the
number of features and, for --scale, their largest absolute values. The steps before the classifier are
fitted to these.
"""

import functools
import os
import stat
import warnings

from margins.cli.errors import CommandError, accessing, samples_in_files, unreadable
from margins.cli.files import COMPRESSED
from margins.cli.models import with_columns
from margins.cli.samples import MOST_FEATURES, name_of, note_of

# Bytes of memory that reading and training take per byte of text, and per value of Parquet: about the
# largest numbers measured in docs/larger_than_memory.md. Categories in text take twice as much.
BYTES_OF_TEXT = 16
BYTES_OF_VALUE = 64
# Bytes of text per compressed byte, for files that do not state it.
COMPRESSION = 10


def reason_to_stream(sources, is_asked, may_stream):
    """Return the reason for streaming files, as a str; None: they are read into memory."""
    if not is_asked and not may_stream:
        return None
    sizes = [_size_of(source) for source in sources]
    reason = "--stream is given"
    if not is_asked:
        from margins.linalg.memory import available_bytes, text_of_bytes

        needed, available = sum(needed for needed, _ in sizes), available_bytes()
        needed *= 2 if sources[0].categorical else 1
        if available is None or needed <= available:
            return None
        reason = (
            f"they may need {text_of_bytes(needed)} of memory, and {text_of_bytes(available)} are free"
        )
    for source, (_, obstacle) in zip(sources, sizes, strict=True):
        if obstacle is not None:
            raise unreadable(
                f"{source.path}: cannot be streamed: it is {obstacle}. {name_of(sources)}: would be "
                f"streamed, because {reason}."
            )
    return reason


def _size_of(source):
    """Return the most bytes of memory that a file takes, and the obstacle to streaming it, if any."""
    if source.path == "-":
        return 0, "standard input, which can be read only once"
    with accessing(source.path, "read"):
        status = os.stat(source.path)
        if not stat.S_ISREG(status.st_mode):
            return 0, "not a regular file"
        with open(source.path, "rb") as file:
            first_bytes = file.read(max(map(len, COMPRESSED)))
            file.seek(-min(4, status.st_size), os.SEEK_END)
            last_bytes = file.read()
    module = next((name for magic, name in COMPRESSED.items() if first_bytes.startswith(magic)), None)
    if module is not None:
        # A gzip file ends with the length of its last member, modulo 2**32.
        length = int.from_bytes(last_bytes, "little") if module == "gzip" else 0
        size = max(COMPRESSION * status.st_size, length)
        return BYTES_OF_TEXT * size, "compressed. Decompress it"
    if source.kind == "matrix":
        return 2 * status.st_size, "a matrix"
    if source.kind == "arff":
        return BYTES_OF_TEXT * status.st_size, "ARFF. Convert it to CSV or Parquet"
    if source.kind == "parquet":
        return status.st_size + BYTES_OF_VALUE * _n_values(source.path), None
    return BYTES_OF_TEXT * status.st_size, None


def _n_values(path):
    """Return the number of values in a Parquet file; 0 if it is damaged, which reading it reports."""
    try:
        from pyarrow import parquet

        metadata = parquet.read_metadata(path)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        return sum(group.column(k).num_values for group in groups for k in range(group.num_columns))
    except Exception:  # pyarrow's errors have many types
        return 0


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
    extremes, shape = sparse.csr_array(largest[np.newaxis]), (sum(rows.values()), len(largest))
    model = with_columns(classifier, sources[0], (extremes, np.zeros(0)), scale)
    return _prepared(model, extremes, chunks, shape, notes)


def _of_tables(classifier, sources, scale):
    import numpy as np

    from margins.cli.tables import features_of
    from margins.data.chunks import Chunks
    from margins.readers.csv import lines_of_csv
    from margins.readers.labels import labels_like, labels_to_train_on
    from margins.readers.parquet import names_of_features, row_groups
    from margins.readers.tables import check_same_columns, kind_in_all, located
    from margins.readers.values import Distinct

    source, paths = sources[0], [source.path for source in sources]
    parts = lines_of_csv(paths, source.delimiter) if source.kind == "csv" else row_groups(paths)
    check_same_columns({part.path: names_of_features(part.names, part.widths) for part in parts})
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
    model = with_columns(classifier, source, (extremes, classes), scale)
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
