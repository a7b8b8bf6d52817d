"""Samples from files: svmlight, tables, matrices."""

from typing import Any, NamedTuple

from margins.cli.errors import CommandError, unreadable
from margins.cli.files import contents_of
from margins.cli.output import note
from margins.readers.files import few
from margins.readers.svmlight import LARGEST_INDEX, matrix_of, note_of_skipped, parsed

# For training. A fit has several weight vectors per class, each of a gigabyte at this size: a larger
# index is more likely a mistake than a feature.
MOST_FEATURES = 2**27
ZERO_BASED = "--zero-based, or --kernel precomputed if 0:i numbers the samples, as in LIBSVM"


def check_alike(sources):
    """Raise CommandError if files differ in format, or if one of several is standard input."""
    first = sources[0]
    for source in sources:
        if source.path == "-" and len(sources) > 1:
            raise CommandError(
                "-: standard input cannot be one of several files. Give it alone, or write it to a file."
            )
        if source.kind != first.kind:
            raise CommandError(
                f"{source.path}: all files must have the format of {first.path}, {first.kind}. Got "
                f"{source.kind}. Leave it out, or give --format if its extension is wrong."
            )
        if source.kind == "csv" and source.delimiter != first.delimiter:
            raise CommandError(
                f"{source.path}: all files must have the delimiter of {first.path}, "
                f"{first.delimiter!r}. Got {source.delimiter!r}. Leave it out, or give --delimiter."
            )


class Samples(NamedTuple):
    """Samples and their labels."""

    X: Any  # CSR array or pandas.DataFrame, shape (m, d)
    y: Any  # ndarray or None, shape (m,); None: a table without the label column


def read_arrays(source, *, to_train):
    """Return the CsrArrays of a file in svmlight's format, of few enough features to train on."""
    source.check_options(needs_labels=True)
    path, zero_based = source.path, source.zero_based
    largest = MOST_FEATURES - zero_based if to_train else LARGEST_INDEX
    arrays = parsed(contents_of(path), path, zero_based, largest, ZERO_BASED)
    if arrays.skipped:
        note_of(source, note_of_skipped(path, arrays.skipped))
    return arrays


def read_samples(*sources):
    """Return the Samples of files of one format, in this order, for a fit."""
    if sources[0].is_table:
        import pyarrow

        from margins.cli.tables import read_tables

        samples = Samples(*read_tables(sources))
        pyarrow.default_memory_pool().release_unused()  # the fit needs it
        return samples
    if sources[0].kind == "matrix":
        from margins.cli.matrices import read_matrices

        return Samples(*read_matrices(sources))
    return Samples(*matrix_of(arrays_of(sources)))


def arrays_of(sources):
    """Return the samples of all files in svmlight's format, to train on (CsrArrays)."""
    arrays = _joined([read_arrays(source, to_train=True) for source in sources])
    if arrays.shape[1] == 0:
        raise unreadable(f"{name_of(sources)}: must hold at least one feature.")
    return arrays


def _joined(parts):
    """Return one CsrArrays with the rows of several."""
    import numpy as np

    parts = [part.of_numpy() for part in parts]
    if len(parts) == 1:
        return parts[0]
    n_rows, n_features = zip(*(part.shape for part in parts), strict=True)
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    joined = parts[0]._replace(
        values=np.concatenate([part.values for part in parts]),
        columns=np.concatenate([part.columns for part in parts]),
        starts=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
        shape=(sum(n_rows), max(n_features)),
        labels=np.concatenate([part.labels for part in parts]),
    )
    return joined.of_numpy()


def name_of(sources):
    """Return the name of files in messages."""
    others = len(sources) - 1
    suffix = f" and {others} other file{'s' if others > 1 else ''}" if others else ""
    return f"{sources[0].path}{suffix}"


class TrainingColumns(NamedTuple):
    """The facts about a model's training samples with which samples to predict must agree."""

    n_features: int
    names: list[str] | None  # the columns of a table
    categories: dict[str, list[Any]]  # by name of the column
    classes: Any  # ndarray
    first_index: int | None = None  # in svmlight's format, 0 or 1; None: not known, or a table
    is_precomputed: bool = False  # True: the features are kernel values

    @classmethod
    def of(cls, model):
        """Return the TrainingColumns of a fitted classifier or pipeline."""
        names = getattr(model, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        first_index = getattr(classifier_of(model), "first_index_", None)
        facts = names, _categories_of(model), model.classes_, first_index, is_precomputed(model)
        return cls(model.n_features_in_, *facts)

    @classmethod
    def on(cls, source, samples):
        """Return the TrainingColumns of a model that will be trained on samples."""
        import numpy as np

        names = samples.X.columns.tolist() if source.is_table else None
        first_index = source.first_index if source.kind == "svmlight" else None
        classes = np.unique(samples.y)
        categories = {name: samples.X[name].unique().tolist() for name in source.categorical}
        return cls(samples.X.shape[1], names, categories, classes, first_index)


def read_points(source, trained, *, needs_labels):
    """Return the Samples of a file with the features of a model, read like the file of its training."""
    d, names = trained.n_features, trained.names
    if source.is_table and names is not None:
        if source.categorical and set(source.categorical) != set(trained.categories):
            raise CommandError(
                f"{source.path}: --categorical must be left out, or name the columns of categories in "
                f"the model's training data, {few(list(trained.categories)) or 'none'}. "
                f"Got {few(source.categorical)}."
            )
        from margins.cli.tables import read_table

        X, y, unknown = read_table(source, needs_labels, trained)
        if unknown:
            lacking = "categories that are not in the model become zeros"
            note_of(source, f"{source.path}: {lacking}: {'; '.join(unknown)}.")
        return Samples(X, y)
    if source.kind == "matrix":
        from margins.cli.matrices import read_matrix

        return Samples(*read_matrix(source, needs_labels, trained))
    if trained.is_precomputed and source.kind == "svmlight":
        unlimited = trained._replace(n_features=LARGEST_INDEX + 1, first_index=None)
        X, y = matrix_of(read_point_arrays(source._replace(zero_based=True), unlimited))
        K = kernel_values(X, source.path)
        if K.shape[1] < d:
            allowed = f"must have the kernel values of {d} training samples, with indices from 1"
            raise unreadable(f"{source.path}: {allowed}. Got {K.shape[1]}.")
        return Samples(K[:, :d], y)  # a text model knows no sample after its last support vector
    X, y = matrix_of(read_point_arrays(source, trained))
    if X.shape[1] > d:
        X = X[:, :d]
    elif X.shape[1] < d:
        X.resize((X.shape[0], d))
    return Samples(X, y)


def read_training_samples(sources, trained):
    """Return the Samples of all files that a model was trained on, with its features."""
    if sources[0].kind == "matrix":
        return read_samples(*sources)
    if trained.is_precomputed and sources[0].kind == "svmlight":
        return read_kernel(sources)
    if sources[0].is_table:
        parts = [read_points(source, trained, needs_labels=True) for source in sources]
        if len(parts) == 1:
            return parts[0]
        import numpy as np
        import pandas

        X = pandas.concat([part.X for part in parts])
        return Samples(X, np.concatenate([part.y for part in parts]))
    parts = [read_point_arrays(source, trained, may_have_more=False) for source in sources]
    return Samples(*matrix_of(_joined(parts), trained.n_features))


def read_point_arrays(source, trained, *, may_have_more=True):
    """Return the samples of a file in svmlight's format, with features that the model may lack."""
    d, names = trained.n_features, trained.names
    if names is not None:
        raise CommandError(
            f"{source.path}: the model was trained on a table with columns {few(names)}, but this file "
            "is read in svmlight's format. If it is a table, give --format csv or --format parquet."
        )
    if source.is_table:
        raise CommandError(
            f"{source.path}: the model was trained on a file in svmlight's format and cannot find its "
            "features in a table. Give a file in svmlight's format."
        )
    if trained.first_index is not None:
        if source.first_index < trained.first_index:
            raise CommandError(
                f"{source.path}: --zero-based contradicts the model, which was trained on a file whose "
                "indices begin at 1. Leave it out."
            )
        source = source._replace(zero_based=trained.first_index == 0)
    arrays = read_arrays(source, to_train=False)
    if arrays.shape[1] > d:
        if not may_have_more:
            raise unreadable(f"{source.path}: must have the features of the model, and has more.")
        unknown = {column for column in arrays.columns if column >= d}
        largest = max(unknown) + 1 - source.zero_based
        indices = f"index {largest}" if len(unknown) == 1 else f"{len(unknown)} indices up to {largest}"
        note_of(source, f"{source.path}: features that are not in the model are left out: {indices}.")
    return arrays


def read_kernel(sources):
    """Return the Samples of files of LIBSVM's precomputed kernel, whose X is K(sample, sample)."""
    samples, name = read_samples(*(each._replace(zero_based=True) for each in sources)), name_of(sources)
    K = kernel_values(samples.X, name)
    for k, number in enumerate(samples.X[:, [0]].toarray().ravel().tolist(), 1):
        if number != k:
            problem = "the samples of a precomputed kernel must be numbered from 1"
            raise unreadable(f"{name}: {problem}. Got 0:{number:g} for sample {k}.")
    return samples._replace(X=K)


def kernel_values(X, path):
    """Return K of the samples ``0:i 1:K(x, x_1) 2:K(x, x_2) ...`` (ndarray)."""
    if X.shape[1] < 2 or not X[:, [0]].toarray().all():
        problem = "each sample of a precomputed kernel must start with 0:i, its number"
        raise unreadable(f"{path}: {problem}.")
    return X[:, 1:].toarray()


def is_precomputed(model):
    """Return whether a model, fitted or not, reads kernel values."""
    return getattr(classifier_of(model), "kernel", None) == "precomputed"


def classifier_of(model):
    """Return the classifier of a model: the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def note_of(source, message):
    """Print a note, unless the source is read quietly."""
    if not source.quiet:
        note(f"note: {message}")


def _categories_of(model):
    """Return the categories of a model made by `train`: dict of lists, by column."""
    steps = dict(getattr(model, "steps", ()))
    if "columns" not in steps:
        return {}
    return {
        name: categories.tolist()
        for step, encoder, columns in steps["columns"].transformers_
        if step == "categories"
        for name, categories in zip(columns, encoder.categories_, strict=True)
    }
