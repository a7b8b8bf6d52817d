"""Write a fitted classifier to a file, and read it again."""

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

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.declared import Declared
from margins.estimators.votes import VotedModel
from margins.kernels.kernel import Kernel
from margins.losses import Loss
from margins.parameters import check_parameters
from margins.persistence.checks import check_state

# What a fitted classifier holds, beside arrays.
KINDS = (BaseEstimator, Kernel, Loss, tuple)
# Of scikit-learn, what skops does not list in every version: a list of columns in a ColumnTransformer,
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
        An algorithm of this package or of a plug-in, fitted or not. What it holds of a stream
        (`partial_fit`) between two chunks is left out: a loaded classifier predicts the same, but
        `partial_fit`, and `fit` with ``warm_start=True``, then raise a ValueError. Pickles hold that,
        too. Or MarginClassifierCV, or scikit-learn's CalibratedClassifierCV around a classifier, or a
        Pipeline that ends with one of these.
    file : str, path or binary file

    Raises
    ------
    TypeError
        If it is no classifier of this interface, or if it holds what cannot be written: a kernel that
        is a function, for instance.
    """
    from skops import io

    io.dump(_copied(classifier), file, compression=zipfile.ZIP_DEFLATED)


def _copied(model: Any) -> Any:
    """A copy of a model of what skops can write, whatever contains the classifier."""
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
    elif isinstance(model, Declared):  # a selection
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
    """The classifiers of this package in a model, whatever contains them; ValueError without one."""
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
    """A copy of a classifier of what skops can write."""
    written = copy.copy(classifier)
    written.__dict__.pop("_streams", None)
    attributes = vars(written)
    if attributes.get("_voted_model") is not None:
        X, *others = attributes["_voted_model"].parts
        attributes["_voted_model"] = (_written(X), *others)
        return written
    for name in MATRICES:
        if name in attributes:
            attributes[name] = _written(attributes[name])
    return written


def load(file: str | os.PathLike[str] | IO[bytes], *, trusted: Iterable[str] = ()) -> Any:
    """Read a classifier that `dump`, or skops, has written.

    Parameters
    ----------
    file : str, path or binary file
    trusted : iterable of str
        Types beyond those of this package and of skops' own list that may be made, such as the class
        of a plug-in: ``"package.module.Class"``. Making them may run their code.

    Returns
    -------
    object
        What `dump` was given: a classifier, or a Pipeline or CalibratedClassifierCV of one.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no such file, or damaged; if it holds types that are not trusted, whose names the error
        gives; or if what it holds is no classifier, or one whose attributes do not fit together. Nothing
        of it is used then.

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
    if isinstance(file, (str, os.PathLike)):
        label = repr(os.fspath(file))
        with open(file, "rb") as opened:
            contents = opened.read()
    else:
        label, contents = "The file", file.read()
    model: Any = _object_of(contents, label, set(trusted))
    for part in _parts_of(model, label):
        with _errors_named(part, label):
            _restore(part)
    return model


def _restore(classifier: Any) -> None:
    """Make the attributes that were read those of a classifier, and check them."""
    attributes = vars(classifier)
    for field in dataclasses.fields(classifier):  # parameters that are newer than the file
        attributes.setdefault(field.name, field.default)
    if isinstance(attributes.get("_voted_model"), tuple):
        attributes["_voted_model"] = _voted_model(*attributes["_voted_model"])
    for name in MATRICES:
        if name in attributes:
            attributes[name] = _read(attributes[name])
    if isinstance(classifier, BaseMarginClassifier):
        check_state(classifier)
    else:
        check_parameters(classifier)


def _voted_model(X: Any, indices: Any, codes: Any, *others: Any) -> VotedModel:
    """The model of votes that was written; files of version 0.2 have no weights, and whole votes."""
    *given, mistakes, votes = others
    weights = given[0] if given else np.ones(len(indices))
    votes = [np.asarray(each, dtype=np.float64) for each in votes]
    return VotedModel(_read(X), indices, codes, weights, mistakes, votes)


def _written(X: Any) -> Any:
    """A matrix as it is written: CSR, which skops does not trust, as its arrays and shape."""
    return (X.data, X.indices, X.indptr, X.shape) if sparse.issparse(X) else X


def _read(X: Any) -> Any:
    """The matrix that was written; ValueError if the arrays of CSR do not fit together."""
    if not isinstance(X, tuple):
        return X
    data, indices, indptr, shape = X
    matrix = sparse.csr_array((data, indices, indptr), shape)
    matrix.check_format(full_check=True)
    return matrix


def _object_of(contents: bytes, label: str, trusted: set[str]) -> object:
    """The object in a file of skops."""
    from skops import io

    try:
        names = io.get_untrusted_types(data=contents)
    except Exception as error:  # whatever a reader of zip files and JSON raises of other contents
        raise ValueError(
            f"{label} is no model file of skops, or is damaged: {_first_line(error)}"
        ) from error
    trusted = trusted.union(ALSO_TRUSTED)
    unknown = [
        name for name in names if not (name in trusted or name.startswith(SPLITTERS) or _is_ours(name))
    ]
    if unknown:
        raise ValueError(
            f"{label} must hold types of margins, NumPy, SciPy and scikit-learn only. Got "
            f"{', '.join(unknown)}. If these come from a source that you trust, give their names as "
            "`trusted`."
        )
    try:
        return io.loads(contents, trusted=names)
    except Exception as error:
        raise ValueError(f"{label} is damaged: {_first_line(error)}") from error


@contextmanager
def _errors_named(classifier: object, label: str) -> Iterator[None]:
    """Any error of attributes that are not what they should be, as a ValueError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{label} holds a {type(classifier).__name__} that is damaged: {error}"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _is_ours(name: str) -> bool:
    """True if a name is that of a class of this package which a classifier may hold."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith("margins.") or module.endswith("__main__"):
        return False
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return False
    # It may have moved since the file was written.
    if not isinstance(found, type) or not found.__module__.startswith("margins."):
        return False
    return issubclass(found, KINDS) or dataclasses.is_dataclass(found)
