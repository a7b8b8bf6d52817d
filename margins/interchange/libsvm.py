"""Classifiers as model files of LIBLINEAR and LIBSVM, and back."""

import os
import warnings
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from margins.estimators.fitted import dense_coef
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.predictions import check_exportable, selected
from margins.kernels import LINEAR
from margins.kernels.selection import kernel_of
from margins.readers import models
from margins.readers.svmlight import CsrArrays
from margins.training.schemes import fitted_scheme, scheme_of

NAMES = {"polynomial": "poly"}  # of kernels here, where LIBSVM has another name


def load_libsvm(path: Any, *, n_features: int | None = None) -> MarginClassifier:
    """Read a model file of LIBLINEAR or LIBSVM as a fitted classifier, with equal scores.

    Parameters
    ----------
    path : path-like
        LIBLINEAR: solvers 1, 2 and 3. LIBSVM: C-SVC with any of its kernels.
    n_features : int, optional
        Number of features or, with a precomputed kernel, of training samples. None: as many as the file
        needs.

    Returns
    -------
    MarginClassifier
        Ready to predict. It has no certificates: `margins.certify` makes them.

    Raises
    ------
    margins.readers.malformed.MalformedFile
        If the file is not such a model. It is a ValueError with path, line and column.
    ValueError
        If `n_features` is smaller than the file needs.

    Warns
    -----
    UserWarning
        If the file has the parameters of probabilities, which are left out.

    See Also
    --------
    dump_libsvm : Writes such files.

    Examples
    --------
    >>> import margins, os, tempfile
    >>> from margins.interchange import dump_libsvm, load_libsvm
    >>> X, y = [[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]], [1, 1, -1, -1]
    >>> classifier = margins.MarginClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model")
    ...     dump_libsvm(classifier, path)
    ...     loaded = load_libsvm(path)
    >>> bool((loaded.decision_function(X) == classifier.decision_function(X)).all())
    True
    """
    with open(path, "rb") as file:
        model = models.ModelText(file.read(), os.fspath(path)).model()
    classifier = classifier_of_file(model, path)
    if n_features is not None:
        _widen(classifier, n_features)
    return classifier


def classifier_of_file(model: models.LinearFile | models.KernelFile, path: Any) -> MarginClassifier:
    """Return the classifier in the contents of a file."""
    return _from_linear(model) if isinstance(model, models.LinearFile) else _from_kernel(model, path)


def dump_libsvm(classifier: Any, path: Any) -> None:
    """Write a classifier as a model file that LIBLINEAR's or LIBSVM's `predict` reads.

    Parameters
    ----------
    classifier : fitted classifier of margins
        With labels that are integers. Linear with one problem for each class: LIBLINEAR's format, with
        the dual solver of its loss. Pairs of classes, or two classes with a kernel: LIBSVM's.
    path : path-like

    Raises
    ------
    TypeError
        If neither format can express the model: votes, other kernels, one-vs-rest with a kernel.
    ValueError
        If a label is not an integer of 32 bits.

    See Also
    --------
    load_libsvm : Reads such files.
    """
    contents = models.text_of(model_file(classifier))
    with open(path, "wb") as file:
        file.write(contents)


def model_file(classifier: Any) -> models.LinearFile | models.KernelFile:
    """Return a fitted classifier in the form of one of the two programs."""
    classifier = selected(classifier)
    check_exportable(classifier, "dump_libsvm")
    scheme = fitted_scheme(classifier)
    if hasattr(classifier, "coef_") and not scheme.has_pairs:
        file: models.LinearFile = models.linear_file(classifier, dense_coef(classifier))
        return file
    labels = [models.integer_label(label) for label in classifier.classes_.tolist()]
    if len(labels) > 2 and not scheme.has_pairs:
        raise TypeError(
            "classifier of dump_libsvm must separate pairs of classes, as LIBSVM does. Got one-vs-rest "
            "with a kernel: fit it with multi_class='ovo'."
        )
    return _kernel_file(classifier, labels)


def _kernel_file(classifier: Any, labels: list[int]) -> models.KernelFile:
    """Return LIBSVM's form of a classifier with a kernel, or of linear pairs of classes."""
    rho, kernel = -classifier.intercept_, classifier.kernel_
    if hasattr(classifier, "coef_"):  # the weight vectors are the support vectors
        pairs, n_classes = list(combinations(range(len(labels)), 2)), len(labels)
        coefficients = np.zeros((len(pairs), n_classes - 1))
        for row, (_, second) in enumerate(pairs):
            coefficients[row, second - 1] = 1.0
        n_support = [n_classes - 1 - first for first in range(n_classes)]
        vectors = _csr_arrays(dense_coef(classifier))
        return models.KernelFile("linear", {}, labels, rho, n_support, coefficients, vectors)
    coefficients, n_support = classifier.dual_coef_.T, classifier.n_support_.tolist()
    order = np.arange(len(coefficients))
    if len(labels) == 2:  # LIBSVM's first class is positive
        order = np.roll(order, -n_support[0])
        labels, n_support = labels[::-1], n_support[::-1]
    if kernel.name == "precomputed":
        serials = classifier.support_[order] + 1.0
        starts = np.arange(len(order) + 1)
        vectors = CsrArrays(serials, np.zeros(len(order), np.int32), starts, (len(order), 1), starts)
    else:
        vectors = _csr_arrays(classifier.support_vectors_[order])
    name = next((name for name, ours in NAMES.items() if ours == kernel.name), kernel.name)
    parameters = {key: getattr(kernel, key) for key in models.KERNELS[name]}
    return models.KernelFile(name, parameters, labels, rho, n_support, coefficients[order], vectors)


def _csr_arrays(X: Any) -> CsrArrays:
    X = sparse.csr_array(X)
    X.sort_indices()
    return CsrArrays(X.data, X.indices, X.indptr, X.shape, np.zeros(X.shape[0], np.int64))


def _from_linear(model: models.LinearFile) -> MarginClassifier:
    """Return the classifier in a file of LIBLINEAR."""
    penalty = "l1" if model.solver.startswith("L1R") else "l2"
    loss, has_intercept = models.SOLVERS[model.solver], model.bias > 0
    classifier = MarginClassifier(loss=loss, penalty=penalty, fit_intercept=has_intercept)
    if model.bias > 0:
        classifier.intercept_scaling = model.bias
    classes, coef, intercept = models.by_sorted_label(model)
    return _fitted(classifier, coef_=coef, intercept_=intercept, classes_=classes, kernel_=LINEAR)


def _from_kernel(model: models.KernelFile, path: Any) -> MarginClassifier:
    """Return the classifier in a file of LIBSVM, whose classes may be in any order."""
    if model.has_probabilities:
        text = f"{os.fspath(path)}: probA and probB are left out: predictions are by scores."
        warnings.warn(text, stacklevel=3)
    name, n_classes = NAMES.get(model.kernel, model.kernel), len(model.labels)
    classifier = MarginClassifier(
        loss="hinge", penalize_intercept=False, multi_class="ovo", kernel=name, **model.parameters
    )
    places = np.argsort(model.labels)  # of the sorted classes in the file
    ends = np.cumsum(model.n_support)
    rows_of_class = [np.arange(end - n, end) for end, n in zip(ends, model.n_support, strict=True)]
    order = np.concatenate([rows_of_class[place] for place in places])
    dual_coef = np.zeros((n_classes - 1, len(order)))
    new_codes = np.repeat(np.arange(n_classes), np.array(model.n_support)[places])
    pairs = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    intercept = np.empty(len(pairs))
    for (first, second), pair in pairs.items():
        one, other = places[first], places[second]
        # The first class of a pair is positive; of two classes alone, the second one.
        sign = (1.0 if one < other else -1.0) * (-1.0 if n_classes == 2 else 1.0)
        intercept[pair] = -sign * model.rho[pairs[min(one, other), max(one, other)]]
        for code, row, place, opposite in ((first, second - 1, one, other), (second, first, other, one)):
            column = opposite - 1 if opposite > place else opposite
            chosen = new_codes == code
            dual_coef[row, chosen] = sign * model.coefficients[order[chosen], column]
    attributes = {
        "intercept_": intercept,
        "classes_": np.array(model.labels)[places],
        "n_support_": np.array(model.n_support, dtype=np.int32)[places],
    }
    if n_classes > 2:
        attributes["pairs_"] = attributes["classes_"][np.array(list(pairs))]
    X = sparse.csr_array(model.vectors[:3], shape=model.vectors.shape)[order]
    if 2 * X.nnz >= X.shape[0] * X.shape[1]:  # scores are then summed as for dense samples
        X = X.toarray()
    if name == "linear":
        scheme = scheme_of("ovo", n_classes)
        coef = scheme.sums(X if isinstance(X, np.ndarray) else X.toarray(), dual_coef, new_codes)
        return _fitted(classifier, coef_=coef.T, kernel_=LINEAR, **attributes)
    support, vectors = np.arange(len(order)), X
    if name == "precomputed":
        support = X.ravel().astype(np.intp) - 1
        vectors = X[:0, :0]
    return _fitted(
        classifier,
        kernel_=kernel_of(classifier, X),
        dual_coef_=dual_coef,
        support_=support,
        support_vectors_=vectors,
        **attributes,
    )


def _fitted(classifier: MarginClassifier, **attributes: Any) -> MarginClassifier:
    """Return a classifier with fitted attributes, and without certificates."""
    if "coef_" in attributes:
        n_features = attributes["coef_"].shape[1]
    elif classifier.kernel == "precomputed":
        n_features = int(attributes["support_"].max(initial=0)) + 1
    else:
        n_features = attributes["support_vectors_"].shape[1]
    vars(classifier).update(attributes, n_features_in_=n_features, certificates_=[])
    return classifier


def _widen(classifier: Any, n_features: int) -> None:
    """Add features without weights, so that a classifier has `n_features` of them."""
    needed = classifier.n_features_in_
    if n_features < needed:
        raise ValueError(
            f"n_features of load_libsvm must be at least {needed}, which the file needs. "
            f"Got {n_features}."
        )
    classifier.n_features_in_ = n_features
    if hasattr(classifier, "coef_"):
        classifier.coef_ = np.pad(classifier.coef_, ((0, 0), (0, n_features - needed)))
    elif classifier.kernel != "precomputed":
        vectors = sparse.csr_array(classifier.support_vectors_)
        vectors.resize((vectors.shape[0], n_features))
        classifier.support_vectors_ = vectors
