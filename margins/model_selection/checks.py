"""Validation of the arguments of a study, before any work."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from margins.data.structure import checked_csr
from margins.data.validation import check_unmasked, checked_labels
from margins.model_selection.folds import part_of, select_rows
from margins.model_selection.keys import digest
from margins.parameters import BOOLEAN, Interval, check, optional

SEEDS = Interval(0, 2**32 - 1, integer=True)


class Data:
    """Samples: rows of X with their labels, weights and groups."""

    def __init__(self, X, y, sample_weight, groups, caller):
        if sparse.issparse(X):
            X = checked_csr(X, f"X of {caller}")
        elif not hasattr(X, "iloc"):
            check_unmasked(X, f"X of {caller}")
            original, X = X, np.asarray(X)
            if X.ndim == 0:
                raise ValueError(f"X of {caller} must hold samples. Got {original!r}.")
        self.X = X
        if y is not None:
            y = checked_labels(y, f"y of {caller}")
        self.y = _column(y, "y", X, caller)
        self.sample_weight = _column(sample_weight, "sample_weight", X, caller)
        self.groups = _column(groups, "groups", X, caller)
        if self.y is None:
            raise ValueError(f"y of {caller} must hold labels. Got None.")
        if self.sample_weight is not None and self.sample_weight.dtype.kind not in "fiub":
            raise ValueError(
                f"sample_weight of {caller} must hold numbers. Got dtype {self.sample_weight.dtype}."
            )
        check_classification_targets(self.y)
        if (n_classes := len(np.unique(self.y))) < 2:
            raise ValueError(f"y of {caller} must hold at least 2 classes. Got {n_classes}.")
        self.digest = digest(self.X, self.y, self.sample_weight, self.groups)

    def part(self, rows):
        """Return X, y and groups of some rows."""
        return select_rows(self.X, rows), self.y[rows], part_of(self.groups, rows)


def _column(values, name, X, caller):
    if values is None:
        return None
    check_unmasked(values, f"{name} of {caller}")
    column = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"{name} of {caller} must have one dimension. Got shape {column.shape}.")
    if len(column) != X.shape[0]:
        needed = f"{name} of {caller} must have one value for each of the {X.shape[0]} rows of X."
        raise ValueError(f"{needed} Got {len(column)}.")
    return column


def check_estimator(estimator, n_jobs, progress, caller):
    """Raise TypeError or ValueError if an argument is not allowed."""
    is_object = not isinstance(estimator, type) and hasattr(estimator, "get_params")
    if not is_object or not is_classifier(estimator):
        raise TypeError(
            f"estimator of {caller} must be an instance of a scikit-learn classifier. Got {estimator!r}."
        )
    check_jobs(n_jobs, caller)
    check("progress", caller, progress, optional(BOOLEAN))


def check_jobs(n_jobs, caller):
    is_integer = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_integer or n_jobs == 0):
        raise ValueError(f"n_jobs of {caller} must be None or an integer other than 0. Got {n_jobs!r}.")


def seed_of(random_state, caller):
    """Return `random_state` if it is an integer; otherwise draw a seed from it, or NumPy's for None."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    if not SEEDS.contains(random_state):
        raise ValueError(
            f"random_state of {caller} must be None or {SEEDS} or a numpy.random.RandomState. "
            f"Got {random_state!r}."
        )
    return int(random_state)
