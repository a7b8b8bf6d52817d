"""Checks of a loaded classifier before it predicts: kinds and shapes of its attributes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from margins.estimators.base import BaseMarginClassifier
from margins.kernels import LINEAR
from margins.kernels.kernel import Kernel
from margins.parameters import check_parameters
from margins.training.schemes import fitted_scheme

# Parameters of a fitted kernel that are numbers, even if those of the estimator may be words.
NUMBERS = ("gamma", "degree", "coef0")


def check_state(classifier: Any) -> None:
    """Raise an error unless parameters are allowed and fitted attributes are consistent."""
    classifier.check_parameters()
    names = "classes_", "coef_", "intercept_", "support_", "kernel_"
    if any(hasattr(classifier, name) for name in names):
        for problem in _problems_of(classifier):
            raise ValueError(problem)


def check_selection(selection: Any) -> None:
    """Raise ValueError unless a MarginClassifierCV agrees with its `estimator_` and its calibration."""
    check_parameters(selection)
    if not hasattr(selection, "estimator_"):  # the fit was without refit, and predictions say so
        return
    estimator = selection.estimator_
    if not isinstance(estimator, BaseMarginClassifier):
        raise ValueError(f"estimator_ must be a classifier of margins. Got {estimator!r}")
    if selection.n_features_in_ != estimator.n_features_in_:
        raise ValueError(f"n_features_in_ must be that of estimator_. Got {selection.n_features_in_!r}")
    classes = selection.classes_
    if not (isinstance(classes, np.ndarray) and np.array_equal(classes, estimator.classes_)):
        raise ValueError(f"classes_ must be those of estimator_. Got {classes!r}")
    if hasattr(selection, "_calibrated"):  # parameters may have been set after the fit
        scores = np.zeros((1, 1 if len(classes) == 2 else len(classes)))
        shape = selection._calibrated.predict_proba(scores).shape
        if shape != (1, len(classes)):
            raise ValueError(f"the calibration must give {len(classes)} probabilities. Got {shape[1:]}")


def _problems_of(classifier: Any) -> Iterator[str]:
    """Yield a sentence for each error in the fitted attributes."""
    classes, d = classifier.classes_, classifier.n_features_in_
    if not (isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2):
        yield "classes_ must be an array of at least two classes"
        return
    if not (isinstance(d, int) and d > 0):
        yield f"n_features_in_ must be a positive integer. Got {d!r}"
        return
    if getattr(classifier, "first_index_", 0) not in (0, 1):
        yield f"first_index_ must be 0 or 1. Got {classifier.first_index_!r}"
    if not isinstance(classifier.kernel_, Kernel):
        yield f"kernel_ must be a kernel. Got {classifier.kernel_!r}"
        return
    yield from _wrong_kernel(classifier.kernel_)
    scheme = fitted_scheme(classifier)
    n_problems = scheme.n_problems
    if scheme.has_pairs:
        yield from _wrong_array(classifier.pairs_, "pairs_", (n_problems, 2), classes.dtype.kind)
    has_votes = hasattr(classifier, "votes_")
    if not has_votes:
        yield from _wrong_array(classifier.intercept_, "intercept_", (n_problems,))
    if classifier.kernel_ == LINEAR and not has_votes:
        yield from _wrong_matrix(classifier.coef_, "coef_", (n_problems, d))
        return
    yield from _wrong_support(classifier, d)
    n_support = len(classifier.support_)
    if has_votes:
        yield from _wrong_votes(classifier, n_problems, n_support)
        return
    yield from _wrong_array(classifier.dual_coef_, "dual_coef_", (scheme.n_dual_rows, n_support))
    if scheme.has_pairs or hasattr(classifier, "n_support_"):
        yield from _wrong_counts(classifier.n_support_, len(classes), n_support)


def _wrong_array(values: Any, name: str, shape: tuple[int, ...], kinds: str = "f") -> Iterator[str]:
    is_array = isinstance(values, np.ndarray)
    if not (is_array and values.shape == shape and values.dtype.kind in kinds):
        got = f"{values.dtype}, {values.shape}" if is_array else type(values).__name__
        yield f"{name} must be an array of numbers with shape {shape}. Got {got}"


def _wrong_matrix(matrix: Any, name: str, shape: tuple[int, ...]) -> Iterator[str]:
    if not sparse.issparse(matrix):
        yield from _wrong_array(matrix, name, shape)
    elif matrix.shape != shape or matrix.format != "csr" or matrix.data.dtype.kind != "f":
        yield f"{name} must be a CSR matrix of floats with shape {shape}. Got {matrix!r}"
    else:
        matrix.check_format(full_check=True)  # raises ValueError


def _wrong_kernel(kernel: Any) -> Iterator[str]:
    for field in dataclasses.fields(kernel):
        value, allowed = getattr(kernel, field.name), field.metadata.get("allowed")
        is_number = isinstance(value, Real) and math.isfinite(value)
        if field.name in NUMBERS and not is_number:
            yield f"{field.name} of kernel_ must be a finite number. Got {value!r}"
        elif allowed is not None and not allowed.contains(value):
            yield f"{field.name} of kernel_ must be {allowed}. Got {value!r}"


def _wrong_counts(counts: Any, n_classes: int, n_support: int) -> Iterator[str]:
    yield from _wrong_array(counts, "n_support_", (n_classes,), "iu")
    if counts.min() < 0 or counts.sum() != n_support:
        yield f"n_support_ must be numbers of samples whose sum is {n_support}. Got {counts.tolist()}"


def _wrong_support(classifier: Any, d: int) -> Iterator[str]:
    """Check support vectors, because compiled loops read them without checking indices."""
    n_support = len(classifier.support_)
    yield from _wrong_array(classifier.support_, "support_", (n_support,), "iu")
    vectors = classifier.support_vectors_  # a model must have them, even if they are empty
    if classifier.kernel_.name == "precomputed":
        if getattr(classifier, "_n_samples", d) != d:
            yield f"n_features_in_ must be the number of samples, {classifier._n_samples}. Got {d}"
        if n_support and not 0 <= classifier.support_.min() <= classifier.support_.max() < d:
            yield f"support_ must be in [0, {d - 1}]. Got {classifier.support_.tolist()}"
    else:
        yield from _wrong_matrix(vectors, "support_vectors_", (n_support, d))


def _wrong_votes(classifier: Any, n_problems: int, n_support: int) -> Iterator[str]:
    mistakes, votes = classifier.mistakes_, classifier.votes_
    for name in ("sq_intercept_scaling_", "_first_theta"):
        if not isinstance(getattr(classifier, name), Real):
            yield f"{name} must be a number. Got {getattr(classifier, name)!r}"
    _, _, codes, weights, *_ = classifier._voted_model.parts
    yield from _wrong_array(codes, "the classes of support_vectors_", (n_support,), "iu")
    yield from _wrong_array(weights, "the weights of support_vectors_", (n_support,), "f")
    if not len(mistakes) == len(votes) == n_problems:
        yield f"mistakes_ and votes_ must have {n_problems} arrays. Got {len(mistakes)} and {len(votes)}"
        return
    for rows, counts in zip(mistakes, votes, strict=True):
        yield from _wrong_array(rows, "mistakes_", (len(rows),), "iu")
        yield from _wrong_array(counts, "votes_", (len(rows) + 1,), "f")
        if len(rows) and not 0 <= rows.min() <= rows.max() < n_support:
            yield f"mistakes_ must be in [0, {n_support - 1}]. Got {rows.min()} to {rows.max()}"
