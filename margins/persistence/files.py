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
from sklearn.pipeline import Pipeline

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.votes import VotedModel
from margins.kernels.kernel import Kernel
from margins.losses import Loss
from margins.persistence.checks import check_state

# What a fitted classifier holds, beside arrays.
KINDS = (BaseMarginClassifier, Kernel, Loss, tuple)
# Of scikit-learn, what skops does not list in every version: a list of columns in a ColumnTransformer.
ALSO_TRUSTED = ("sklearn.compose._column_transformer._RemainderColsList",)


def dump(classifier: BaseMarginClassifier | Pipeline, file: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a classifier to a file that `load` reads.

    Parameters
    ----------
    classifier : object
        An algorithm of this package or of a plug-in, fitted or not. What it holds of a stream
        (`partial_fit`) between two chunks is left out: a loaded classifier predicts the same, but its
        stream has ended. Pickles hold that, too. Or a scikit-learn Pipeline that ends with one.
    file : str, path or binary file

    Raises
    ------
    TypeError
        If it is no classifier of this interface, or if it holds what cannot be written: a kernel that
        is a function, for instance.
    """
    from skops import io

    last = _last_step(classifier)
    if not isinstance(last, BaseMarginClassifier):
        raise TypeError(
            "classifier of dump must be a classifier of margins, or a Pipeline that ends with one. "
            f"Got an object of type {type(last).__name__}."
        )
    written = _writable(last)
    if isinstance(classifier, Pipeline):
        pipeline = copy.copy(classifier)
        pipeline.steps = [*classifier.steps[:-1], (classifier.steps[-1][0], written)]
        written = pipeline
    io.dump(written, file, compression=zipfile.ZIP_DEFLATED)


def _last_step(classifier: Any) -> Any:
    """The last step of a Pipeline; anything else as it is."""
    return classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier


def _writable(classifier: BaseMarginClassifier) -> Any:
    """A copy of a classifier of what skops can write."""
    written = copy.copy(classifier)
    written.__dict__.pop("_streams", None)
    attributes = vars(written)
    if attributes.get("_voted_model") is not None:
        X, *others = attributes["_voted_model"].parts
        attributes["_voted_model"] = (_written(X), *others)
    elif hasattr(written, "support_vectors_"):
        written.support_vectors_ = _written(written.support_vectors_)
    return written


def load(
    file: str | os.PathLike[str] | IO[bytes], *, trusted: Iterable[str] = ()
) -> BaseMarginClassifier | Pipeline:
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
        The classifier, or the Pipeline that ends with it.

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
    with _errors_named(model, label):
        classifier = _last_step(model)
    if not isinstance(classifier, BaseMarginClassifier):
        raise ValueError(
            f"{label} must hold a classifier of margins, or a Pipeline that ends with one. "
            f"Got an object of type {type(classifier).__name__}."
        )
    with _errors_named(classifier, label):
        attributes = vars(classifier)
        for field in dataclasses.fields(classifier):  # parameters that are newer than the file
            attributes.setdefault(field.name, field.default)
        if isinstance(attributes.get("_voted_model"), tuple):
            attributes["_voted_model"] = _voted_model(*attributes["_voted_model"])
        elif "support_vectors_" in vars(classifier):
            classifier.support_vectors_ = _read(classifier.support_vectors_)
        check_state(classifier)
    return model


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
    unknown = [name for name in names if name not in trusted and not _is_ours(name)]
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
