"""Writing of fitted classifiers to files, reading of these files, and checks of what they contain."""

import copy
import dataclasses
import importlib
import math
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Real
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
from margins.kernels import LINEAR
from margins.kernels.kernel import Kernel
from margins.losses import Loss
from margins.optional import require
from margins.parameters import check_parameters
from margins.regularisers import Regulariser
from margins.training.schemes import fitted_scheme

# The types in a fitted classifier, in addition to arrays.
KINDS = (BaseEstimator, Kernel, Loss, Regulariser, tuple)
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
# Parameters of a fitted kernel that are numbers, even if those of the estimator may be words.
NUMBERS = ("gamma", "degree", "coef0")


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
    if not contents:
        raise ValueError(f"{label} is not a model file of skops, or is damaged: it is empty.")
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
