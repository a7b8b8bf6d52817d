"""One partition: reading and checking its samples, counting them, and drawing a random part of them."""

import contextlib
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from margins._sparse import Rows
from margins.data.binary_data import augmented_sqnorms, rows_of, without_duplicates
from margins.data.validation import Labels, check_labels, read_labels, validate_matrix
from margins.tuning import TUNING


class Subsample(NamedTuple):
    """A random part of the samples of a partition."""

    X: object  # ndarray or CSR matrix
    labels: np.ndarray
    weight: np.ndarray  # float64: sample weight times the number of samples represented
    folds: np.ndarray | None  # int: their folds; None without folds


class Counts(NamedTuple):
    """The counts of a partition, or of all partitions together."""

    n_samples: int
    n_features: int
    n_stored: int  # number of stored elements
    classes: np.ndarray
    totals: np.ndarray  # float64: sum of the sample weights of each class
    lightest: np.ndarray  # float64: smallest positive weight of each class (inf, or 0 of all: none)
    heaviest: np.ndarray  # float64: largest weight of each class
    max_sqnorm: float  # largest |x_k|^2
    median_sqnorm: float  # (rough) median of |x_k|^2 times the sample weight
    feature_names: np.ndarray | None  # str or None
    subsample: object = None  # Subsample, None, or a list of all of them
    in_folds: np.ndarray | None = None  # float64, shape (n_folds, n_classes): sums of sample weights

    def totals_of(self, fold):
        """Return the sums of sample weights of each class outside a fold; None: of all samples."""
        if fold is None:
            return self.totals
        return np.delete(self.in_folds, fold, axis=0).sum(axis=0)


class FoldsOfRows(NamedTuple):
    """Folds of rows, drawn in each partition and stratified: their class counts differ by 1 at most."""

    n_folds: int
    seed: int

    def of(self, codes, index):
        """Return the folds of the samples of a partition, as an ndarray of int of shape (m,)."""
        rng, n_folds = np.random.default_rng([self.seed, index, self.n_folds]), self.n_folds
        folds = np.empty(len(codes), np.min_scalar_type(n_folds))
        for code in np.unique(codes):
            rows = rng.permutation(np.flatnonzero(codes == code))
            folds[rows] = (np.arange(len(rows)) + rng.integers(n_folds)) % n_folds
        return folds


class Sizes(NamedTuple):
    """The parameters of each partition's subsample: its size and its random draw."""

    seed: int
    n_partitions: int
    folds: FoldsOfRows | None = None


@contextlib.contextmanager
def named(chunk):
    """Context in which errors about samples name the chunk that holds them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if chunk in str(error):
            raise
        raise ValueError(f"{chunk}: {error}") from error


def read_matrix(X, name, n_features=None):
    """Return X of a partition, checked."""
    X = validate_matrix(X, name, is_finite=n_features is not None)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"{name} must have {n_features} features, like the other chunks. Got {X.shape[1]}."
        )
    # Copies of single rows, as for active sets, are not checked again.
    return without_duplicates(X) if sparse.issparse(X) else X


def codes_among(classes, labels):
    """Return the indices of labels among all classes, whose dtype may be wider (ndarray of int)."""
    return np.searchsorted(classes, labels.astype(classes.dtype, copy=False))


def merged_classes(parts, name):
    """Return the distinct labels of all partitions, sorted; ValueError if no dtype holds all exactly."""
    check_labels(np.array([label for part in parts for label in part.tolist()], object), f"y of {name}")
    kinds = {part.dtype.kind for part in parts}
    if {"i", "u"} <= kinds and "f" not in kinds:  # NumPy would promote these to float64
        smallest, largest = (pick(int(pick(part)) for part in parts) for pick in (min, max))
        dtype = np.int64 if largest < 2**63 else np.uint64
        is_exact = largest < 2**63 or smallest >= 0
    else:
        dtype = np.result_type(*parts)
        # Python compares int and float exactly.
        is_exact = "f" not in kinds or all(p.tolist() == p.astype(dtype).tolist() for p in parts)
    if not is_exact:
        raise ValueError(
            f"y of {name} must hold labels that one dtype represents exactly. Got "
            f"{', '.join(sorted({str(part.dtype) for part in parts}))} in different chunks."
        )
    return np.unique(np.concatenate([part.astype(dtype) for part in parts]))


class Read(NamedTuple):
    """A partition after its first reading."""

    X: object  # ndarray or CSR matrix
    rows: Rows
    labels: Labels
    sample_weight: np.ndarray  # float64, shape (m,)
    sqnorms: np.ndarray  # float64, shape (m,): |x_k|^2
    counts: Counts  # without details of weights and median, and without a subsample


def first_reading(X, y, weight, chunk, name):
    """Read a partition for the first time: check its samples, X by `name`, and count them (Read)."""
    names = None
    if hasattr(X, "columns"):
        from margins.data.frames import flattened

        X = flattened(X, name)
        names = _get_feature_names(X)
    X = read_matrix(X, name)
    labels, rows = read_labels(X.shape[0], y, weight, chunk), rows_of(X)
    sqnorms = augmented_sqnorms(rows.sqnorms(), 0.0, hard_margin=False)
    sample_weight = np.ones(X.shape[0]) if labels.weight is None else labels.weight
    totals = np.bincount(labels.codes, weights=sample_weight, minlength=len(labels.classes))
    zeros = np.zeros(len(totals))
    counts = Counts(
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_stored=int(rows.n_stored),
        classes=labels.classes,
        totals=totals,
        lightest=zeros,
        heaviest=zeros,
        max_sqnorm=float(sqnorms.max()),
        median_sqnorm=0.0,
        feature_names=names,
    )
    return Read(X, rows, labels, sample_weight, sqnorms, counts)


def count(X, y, weight, name, index, sizes):
    """Read a partition for the first time, and return (Counts, Labels)."""
    X, _, labels, sample_weight, sqnorms, counts = first_reading(X, y, weight, name, name)
    n_classes = len(labels.classes)
    lightest, heaviest = np.full(n_classes, np.inf), np.zeros(n_classes)
    for code in range(n_classes):
        positive = sample_weight[(labels.codes == code) & (sample_weight > 0)]
        if len(positive):
            lightest[code], heaviest[code] = positive.min(), positive.max()
    folds = in_folds = None
    if sizes.folds is not None:
        folds, in_folds = sizes.folds.of(labels.codes, index), np.zeros((sizes.folds.n_folds, n_classes))
        np.add.at(in_folds, (folds, labels.codes), sample_weight)
    subsample = _subsample(X, labels, sample_weight, folds, index, sizes)
    median = float(np.median(sample_weight * sqnorms))
    counts = counts._replace(lightest=lightest, heaviest=heaviest, median_sqnorm=median)
    return counts._replace(subsample=subsample, in_folds=in_folds), labels


def _subsample(X, labels, sample_weight, folds, index, sizes):
    """Return a random Subsample of a partition; None if it would take too much memory."""
    tuning, partitions = TUNING.subsample, TUNING.partitions
    m, d = X.shape
    min_size = -(-max(tuning.per_feature * d, tuning.min_size) // sizes.n_partitions)
    bytes_of_row = max(12 * X.nnz / m if sparse.issparse(X) else X.itemsize * d, 1)
    max_size = int(partitions.subsample_bytes / (bytes_of_row * sizes.n_partitions))
    if max_size < min(min_size, m):
        return None
    size = min(max(min_size, int(partitions.subsample_share * m)), max_size, m)
    rng = np.random.default_rng([sizes.seed, index])
    chosen = np.sort(rng.choice(m, size, replace=False, shuffle=False))
    labels_of_chosen = labels.classes[labels.codes[chosen]]
    folds_of_chosen = None if folds is None else folds[chosen]
    return Subsample(X[chosen], labels_of_chosen, sample_weight[chosen] * (m / size), folds_of_chosen)
