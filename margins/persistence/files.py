"""Writing of fitted classifiers to files, and reading of these files."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from margins._version import __version__
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.declared import Declared
from margins.estimators.votes import VotedModel
from margins.kernels.kernel import Kernel
from margins.losses import Loss
from margins.optional import require
from margins.persistence.checks import check_selection, check_state

# The types in a fitted classifier, in addition to arrays.
KINDS = (BaseEstimator, Kernel, Loss, tuple)
# Types of scikit-learn that not every version of skops lists: a list of columns in a ColumnTransformer,
# the calibrators of a CalibratedClassifierCV, and the splitters of a selection.
ALSO_TRUSTED = (
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
)
SPLITTERS = "sklearn.model_selection._split."
# Attributes that may be CSR.
MATRICES = ("support_vectors_", "coef_")


def dump(classifier: Any, file: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a classifier to a file that `load` reads.

    Parameters
    ----------
    classifier : object
        A classifier of this package or of a plug-in, fitted or not; MarginClassifierCV; scikit-learn's
        CalibratedClassifierCV around a classifier; or a Pipeline that ends with one of these. The state
        of a stream (`partial_fit`) between two chunks is left out: a loaded classifier predicts the
        same, but `partial_fit`, and `fit` with ``warm_start=True``, raise a ValueError. A pickle keeps
        that state.
    file : str, path or binary file

    Raises
    ------
    TypeError
        If it is not such a classifier, or contains an object that cannot be written, such as a kernel
        that is a function.
    ImportError
        If skops is not installed.
    """
    io = require("persistence.dump", "skops.io")
    io.dump(_copied(classifier), file, compression=zipfile.ZIP_DEFLATED)


def _copied(model: Any) -> Any:
    """Return a copy of a model, such as a Pipeline, whose classifiers skops can write."""
    if isinstance(model, BaseMarginClassifier):
        return _writable(model)
    copied = copy.copy(model)
    if isinstance(model, Pipeline):
        copied.steps = [*model.steps[:-1], (model.steps[-1][0], _copied(model.steps[-1][1]))]
    elif isinstance(model, CalibratedClassifierCV):
        copied.estimator = _copied(model.estimator)
        if hasattr(model, "calibrated_classifiers_"):
            copied.calibrated_classifiers_ = parts = list(map(copy.copy, model.calibrated_classifiers_))
            for part in parts:
                part.estimator = _copied(part.estimator)
    elif isinstance(model, Declared):  # a MarginClassifierCV
        copied = _writable(model)
        if hasattr(model, "estimator_"):
            copied.estimator_ = _writable(model.estimator_)
    else:
        raise TypeError(
            "classifier of dump must be a classifier of margins, or a Pipeline or a "
            f"CalibratedClassifierCV that ends with one. Got an object of type {type(model).__name__}."
        )
    return copied


def _parts_of(model: Any, label: str) -> Iterator[Any]:
    """Yield the classifiers of this package in a model; raise ValueError if there are none."""
    with _errors_named(model, label):
        inner: list[Any] = []
        if isinstance(model, Pipeline):
            inner = [model.steps[-1][1]]
        elif isinstance(model, CalibratedClassifierCV):
            parts = getattr(model, "calibrated_classifiers_", ())
            inner = [model.estimator, *(part.estimator for part in parts)]
        elif isinstance(model, Declared) and hasattr(model, "estimator_"):
            inner = [model.estimator_]
    if not inner and not isinstance(model, Declared):
        raise ValueError(
            f"{label} must hold a classifier of margins, or a Pipeline or a CalibratedClassifierCV that "
            f"ends with one. Got an object of type {type(model).__name__}."
        )
    if isinstance(model, Declared):
        yield model
    for part in inner:
        yield from _parts_of(part, label)


def _writable(classifier: Any) -> Any:
    """Return a copy of a classifier with attributes that skops can write."""
    twin = copy.copy(classifier)
    attributes = vars(twin)
    attributes.pop("_state", None)
    attributes["_written_by"] = __version__
    if attributes.get("_voted_model") is not None:
        X, *other_parts = attributes["_voted_model"].parts
        attributes["_voted_model"] = (_matrix_as_tuple(X), *other_parts)
        return twin
    for name in MATRICES:
        if name in attributes:
            attributes[name] = _matrix_as_tuple(attributes[name])
    return twin


def load(file: str | os.PathLike[str] | IO[bytes], *, trusted: Iterable[str] = ()) -> Any:
    """Read a classifier that `dump` or skops wrote, and return it.

    Parameters
    ----------
    file : str, path or binary file
    trusted : iterable of str
        Names of additional types that may be created, such as the class of a plug-in:
        ``"package.module.Class"``. Creating them may run their code.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not a model file, or is damaged; if it contains types that are not trusted, which
        the error names; or if it does not contain a classifier with consistent attributes. None of its
        contents are used then.
    ImportError
        If skops is not installed.

    Examples
    --------
    >>> import io
    >>> import margins
    >>> from margins.persistence import dump, load
    >>> X, y = [[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]], [1, 1, 0, 0]
    >>> file = io.BytesIO()
    >>> dump(margins.get("pdm")(random_state=0).fit(X, y), file)
    >>> load(io.BytesIO(file.getvalue())).predict(X)
    array([1, 1, 0, 0])
    """
    require("persistence.load", "skops.io")
    if isinstance(file, (str, os.PathLike)):
        label = repr(os.fspath(file))
        with open(file, "rb") as stream:
            contents = stream.read()
    else:
        label, contents = "The file", file.read()
    model: Any = _object_of(contents, label, set(trusted))
    for part in _parts_of(model, label):
        with _errors_named(part, label):
            _restore(part)
    return model


def _restore(classifier: Any) -> None:
    """Turn the attributes that were read into attributes of a classifier, and check them."""
    attributes = vars(classifier)
    attributes.pop("_written_by", None)
    for field in dataclasses.fields(classifier):  # the file may be older than a parameter
        attributes.setdefault(field.name, field.default)
    if isinstance(attributes.get("_voted_model"), tuple):
        attributes["_voted_model"] = _voted_model(*attributes["_voted_model"])
    for name in MATRICES:
        if name in attributes:
            attributes[name] = _matrix_of(attributes[name])
    check = check_state if isinstance(classifier, BaseMarginClassifier) else check_selection
    check(classifier)


def _voted_model(X: Any, indices: Any, codes: Any, *parts: Any) -> VotedModel:
    """Return the model of votes; files of version 0.2 have no weights, and integer votes."""
    *optional_weights, mistakes, votes = parts
    weights = optional_weights[0] if optional_weights else np.ones(len(indices))
    votes = [np.asarray(counts, dtype=np.float64) for counts in votes]
    return VotedModel(_matrix_of(X), indices, codes, weights, mistakes, votes)


def _matrix_as_tuple(X: Any) -> Any:
    """Return the arrays and the shape of a CSR matrix, which skops does not trust, or a dense X."""
    return (X.data, X.indices, X.indptr, X.shape) if sparse.issparse(X) else X


def _matrix_of(X: Any) -> Any:
    """Undo `_matrix_as_tuple`; raise ValueError if the arrays of a CSR matrix are inconsistent."""
    if not isinstance(X, tuple):
        return X
    data, indices, indptr, shape = X
    matrix = sparse.csr_array((data, indices, indptr), shape)
    matrix.check_format(full_check=True)
    return matrix


def _object_of(contents: bytes, label: str, trusted: set[str]) -> object:
    """Return the object in a skops file."""
    from skops import io

    try:
        names = io.get_untrusted_types(data=contents)
    except Exception as error:  # readers of zip files and JSON raise many types for other contents
        raise ValueError(
            f"{label} is not a model file of skops, or is damaged: {_first_line(error)}"
        ) from error
    trusted = trusted.union(ALSO_TRUSTED)
    untrusted = (name for name in names if name not in trusted and not name.startswith(SPLITTERS))
    if unknown := [name for name in untrusted if not _is_ours(name)]:
        raise ValueError(
            f"{label} must contain only types of margins, NumPy, SciPy and scikit-learn. Got "
            f"{', '.join(unknown)}. If these come from a source that you trust, give their names as "
            "`trusted`."
        )
    try:
        return io.loads(contents, trusted=names)
    except Exception as error:
        raise ValueError(f"{label} is damaged: {_first_line(error)}") from error


@contextmanager
def _errors_named(classifier: object, label: str) -> Iterator[None]:
    """Return a context that turns any error of wrong attributes into a ValueError."""
    version = getattr(classifier, "_written_by", "0.2 or older")
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        kind = type(classifier).__name__
        if version != __version__:
            kind += f", or one of margins {version} that {__version__} cannot read"
        raise ValueError(f"{label} contains a damaged {kind}: {error}") from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _is_ours(name: str) -> bool:
    """Return True if a name belongs to a class of this package that a classifier may contain."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith("margins.") or module.endswith("__main__"):
        return False
    try:
        class_ = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return False
    # The class may have moved since the file was written.
    if not isinstance(class_, type) or not class_.__module__.startswith("margins."):
        return False
    return issubclass(class_, KINDS) or dataclasses.is_dataclass(class_)
