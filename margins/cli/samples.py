"""Samples from files: svmlight, CSV, Parquet."""

from typing import Any, NamedTuple

from margins.cli.errors import CommandError, unreadable
from margins.cli.files import contents_of
from margins.cli.output import note

FORMATS = ("auto", "svmlight", "csv", "parquet")
SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
COMPRESSIONS = (".gz", ".bz2", ".xz")

# Of training. A fit has several weight vectors for each class, and one of so many features takes a
# gigabyte: a larger index is rather a mistake than a feature.
MOST_FEATURES = 2**27


class Source(NamedTuple):
    """Where samples come from, as options say it."""

    path: str  # "-": standard input
    format: str = "auto"  # one of `FORMATS`; "auto": by the name of the file
    target: str | None = None  # the column of the labels, of a table
    categorical: tuple[str, ...] = ()  # columns of categories, of a table
    zero_based: bool = False  # True: indices in a file of svmlight's format begin at 0
    quiet: bool = False  # True: nothing is noted of what is left out

    @property
    def kind(self):
        """The format: "svmlight", "csv" or "parquet"."""
        if self.format != "auto":
            return self.format
        name = self.path.lower()
        for compression in COMPRESSIONS:
            name = name.removesuffix(compression)
        return next((kind for end, kind in SUFFIXES.items() if name.endswith(end)), "svmlight")

    @property
    def first_index(self):
        """The index of the first feature in svmlight's format: 0 or 1."""
        return 0 if self.zero_based else 1

    @property
    def is_table(self):
        """True if it has columns with names."""
        return self.kind != "svmlight"


class Samples(NamedTuple):
    """Samples and their labels."""

    X: Any  # CSR array or pandas.DataFrame, shape (m, d)
    y: Any  # ndarray or None, shape (m,); None: a table without the column of labels


def read_arrays(source, *, to_train):
    """The arrays of a file in svmlight's format: margins.data.svmlight.CsrArrays.

    To train, it must have a feature, and at most `MOST_FEATURES`.
    """
    from margins.data.svmlight import LARGEST_INDEX, note_of_skipped, parsed

    check_options(source)
    path, zero_based = source.path, source.zero_based
    largest = MOST_FEATURES - zero_based if to_train else LARGEST_INDEX
    arrays = parsed(
        contents_of(path), path, zero_based=zero_based, largest=largest, option="--zero-based"
    )
    if arrays.skipped:
        note_of(source, note_of_skipped(path, arrays.skipped))
    return arrays


def check_options(source):
    """Raise CommandError if an option is not for svmlight's format."""
    if source.target is not None or source.categorical:
        raise CommandError(
            f"{source.path}: --target and --categorical are for tables, and this file is read in "
            "svmlight's format. Give --format csv or --format parquet."
        )


def read_samples(*sources):
    """The samples of files of one format, in this order, for a fit: Samples.

    CommandError if a file cannot be read or an option does not suit it, MalformedFile if it is
    malformed or has more features than `MOST_FEATURES`.
    """
    if sources[0].is_table:
        from margins.cli.tables import read_table, read_tables

        X, y = read_tables(sources) if len(sources) > 1 else read_table(sources[0], True)[:2]
        return Samples(X, y)
    arrays = _joined([read_arrays(source, to_train=True) for source in sources])
    if arrays.shape[1] == 0:
        raise unreadable(f"{name_of(sources)}: must hold at least one feature.")
    return Samples(*matrix_of(arrays))


def _joined(parts):
    """The rows of several CsrArrays: CsrArrays."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    n_rows, n_features = zip(*(part.shape for part in parts), strict=True)
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    ends = np.cumsum(counts, dtype=np.int64)
    index_type = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
    return parts[0]._replace(
        values=np.concatenate([part.values for part in parts]),
        columns=np.concatenate([part.columns for part in parts]),
        starts=np.concatenate([[0], ends]).astype(index_type),
        shape=(sum(n_rows), max(n_features)),
        labels=np.concatenate([part.labels for part in parts]),
    )


def name_of(sources):
    """What messages call files: str."""
    others = len(sources) - 1
    which = f" and {others} other file{'s' if others > 1 else ''}" if others else ""
    return f"{sources[0].path}{which}"


def matrix_of(arrays):
    """X and y of arrays: CSR array, ndarray."""
    from scipy import sparse

    X = sparse.csr_array(arrays[:3], shape=arrays.shape)
    X.has_canonical_format = True  # the reader rejects anything else
    return X, arrays.labels


class TrainingColumns(NamedTuple):
    """What a model is trained on, as far as samples to predict must agree with it."""

    n_features: int
    names: list[str] | None  # of the columns of a table
    categories: dict[str, list[Any]]  # of the columns of categories, by name
    classes: Any  # ndarray
    first_index: int | None = None  # in svmlight's format, 0 or 1; None: not known, or a table

    @classmethod
    def of(cls, model):
        """Of a fitted classifier or pipeline."""
        names = getattr(model, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        first_index = getattr(classifier_of(model), "first_index_", None)
        return cls(model.n_features_in_, names, _categories_of(model), model.classes_, first_index)

    @classmethod
    def on(cls, source, samples):
        """Of a model that will be trained on samples."""
        import numpy as np

        names = samples.X.columns.tolist() if source.is_table else None
        classes, first_index = np.unique(samples.y), None if source.is_table else source.first_index
        categories = {name: samples.X[name].unique().tolist() for name in source.categorical}
        return cls(samples.X.shape[1], names, categories, classes, first_index)


def read_points(source, trained, *, needs_labels):
    """Samples for a model, those features that it has: Samples.

    Features of a file in svmlight's format that the model does not have are left out, as their weight is
    0; so are columns of a table. Of categories that it does not have a note is printed. Without
    `needs_labels` labels are ignored, and a table may lack them. The file is read as that of the
    training: CommandError if an option contradicts it.
    """
    d, names = trained.n_features, trained.names
    if source.is_table:
        if names is None:
            raise CommandError(
                f"{source.path}: the model was trained on a file in svmlight's format, so that it "
                "cannot find its features in a table."
            )
        if source.categorical and set(source.categorical) != set(trained.categories):
            raise CommandError(
                f"{source.path}: --categorical must name the columns of categories that the model was "
                f"trained with, {_few(list(trained.categories)) or 'none'}, or be left out. "
                f"Got {_few(source.categorical)}."
            )
        from margins.cli.tables import read_table

        X, y, unknown = read_table(source, needs_labels, trained)
        if unknown:
            lacking = "categories that the model does not have become zeros"
            note_of(source, f"{source.path}: {lacking}: {'; '.join(unknown)}.")
        return Samples(X, y)
    if names is not None:
        raise CommandError(
            f"{source.path}: the model was trained on a table with columns {_few(names)}, "
            "and this file has no names. Give --format csv or --format parquet."
        )
    if trained.first_index is not None:
        if source.first_index < trained.first_index:
            raise CommandError(
                f"{source.path}: --zero-based contradicts the model, which was trained on a file whose "
                "indices begin at 1. Leave it out."
            )
        source = source._replace(zero_based=trained.first_index == 0)
    X, y = matrix_of(read_arrays(source, to_train=False))
    if X.shape[1] > d:
        unknown = set(X.indices[X.indices >= d].tolist())
        largest = max(unknown) + 1 - source.zero_based
        indices = f"index {largest}" if len(unknown) == 1 else f"{len(unknown)} indices up to {largest}"
        note_of(source, f"{source.path}: features that the model does not have are left out: {indices}.")
        X = X[:, :d]
    elif X.shape[1] < d:
        X.resize((X.shape[0], d))
    return Samples(X, y)


def classifier_of(model):
    """The classifier of a model: the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def note_of(source, message):
    """Print a note, unless it is not wanted."""
    if not source.quiet:
        note(f"note: {message}")


def _categories_of(model):
    """The categories of a model that `train` has made: dict of lists, by column."""
    steps = dict(getattr(model, "steps", ()))
    if "columns" not in steps:
        return {}
    return {
        name: categories.tolist()
        for step, encoder, columns in steps["columns"].transformers_
        if step == "categories"
        for name, categories in zip(columns, encoder.categories_, strict=True)
    }


def _few(names):
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
