"""Folds: rows of training and test sets from any allowed value of `cv`."""

import copy
from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from margins.data.validation import checked_labels


def listed(cv):
    """Return `cv`, as a list if it is an iterable of folds, such as a generator."""
    if hasattr(cv, "split") or isinstance(cv, str | bytes | dict) or not hasattr(cv, "__iter__"):
        return cv
    return list(cv)


def splitter_of(cv, groups, seed, name, caller):
    """Return the splitter for `cv`, seeded if its random_state is None."""
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"{name} of {caller} must be at least 2. Got {cv}.")
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        return kind(int(cv), shuffle=True, random_state=seed)
    if hasattr(cv, "split") and not isinstance(cv, str):
        if getattr(cv, "random_state", 0) is None:
            cv = copy.copy(cv)
            cv.random_state = seed
        return cv
    if isinstance(cv, list):
        return cv
    raise TypeError(
        f"{name} of {caller} must be an integer, a splitter with split(X, y, groups), or an iterable of "
        f"(train, test). Got {cv!r}."
    )


def codes_of_groups(groups, n_samples, caller):
    """Return the group of each sample as 0, 1, ... (ndarray of intp, shape (n_samples,))."""
    labels = np.asarray(checked_labels(groups, f"groups of {caller}"))
    if labels.shape != (n_samples,):
        raise ValueError(
            f"groups of {caller} must have one label for each of the {n_samples} samples. Got shape "
            f"{labels.shape}."
        )
    is_missing = labels != labels  # nan, and NaT
    if is_missing.any():
        first = int(is_missing.argmax())
        raise ValueError(
            f"groups of {caller} must not have missing labels. Got {labels[first]!s} for sample {first}."
        )
    codes = np.unique(labels, return_inverse=True)[1].reshape(n_samples)
    if codes.max() == 0:
        raise ValueError(
            f"groups of {caller} must contain at least 2 groups. Got 1: {labels[0].item()!r}."
        )
    return codes.astype(np.intp)


def folds_of(splitter, X, y, groups, name, caller):
    """Return the rows of the training and the test set of every fold."""
    codes = None if groups is None else codes_of_groups(groups, len(y), caller)
    pairs = splitter.split(X, y, groups) if hasattr(splitter, "split") else splitter
    folds = []
    for number, pair in enumerate(pairs):
        fold = Where(number, name, caller)
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise ValueError(f"{fold} must be a pair (train, test). Got {pair!r}.") from None
        rows = [_rows(part, len(y), fold) for part in (train, test)]
        if codes is not None:
            shared = np.flatnonzero(np.isin(codes, codes[rows[0]]) & np.isin(codes, codes[rows[1]]))
            if len(shared):
                raise ValueError(
                    f"{fold} must not train and test on samples of one group, if groups are given. Got "
                    f"group {np.asarray(groups)[shared[0]].item()!r} in both sets. Use an integer, or a "
                    "splitter of groups such as GroupKFold."
                )
        labels = y[rows[0]]
        if np.all(labels == labels[0]):  # np.unique would sort, which may take longer than a fit
            raise ValueError(f"{fold} must train on at least 2 classes. Got 1.")
        folds.append(tuple(rows))
    if not folds:
        raise ValueError(f"{name} of {caller} must give at least 1 fold. Got none.")
    return folds


def _rows(part, n_samples, fold):
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    is_valid = rows.ndim == 1 and len(rows) and rows.dtype.kind in "iu"
    if not is_valid or rows.min() < -n_samples or rows.max() >= n_samples:
        raise ValueError(
            f"{fold} must hold indices of the {n_samples} samples, at least 1 for training and 1 for "
            f"testing. Got {part!r}."
        )
    return rows.astype(np.int64) % n_samples


def select_rows(X, rows):
    """Return some rows of an array, a sparse matrix or a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class Where:
    """Name of a fold in messages, made only when needed, as a look-up may take longer than a fit."""

    def __init__(self, *parts):
        self._parts = parts

    def __str__(self):
        return "Fold {} of {} of {}".format(*self._parts)


def part_of(values, rows):
    """Return rows of an array; None if there is no array."""
    return None if values is None else values[rows]


class Splits:
    """Many pairs (train, test), stored in a few arrays, which are cheap to send to other processes."""

    def __init__(self, pairs):
        trains, tests = zip(*pairs, strict=True)
        self._train, self._test = _joined(trains), _joined(tests)

    def __len__(self):
        return len(self._train[1]) - 1

    def __getitem__(self, index):
        return tuple(rows[ends[index] : ends[index + 1]] for rows, ends in (self._train, self._test))

    @property
    def nbytes(self):
        return sum(array.nbytes for pair in (self._train, self._test) for array in pair)


def _joined(parts):
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)])
