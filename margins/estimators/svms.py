"""Conversion of fitted classifiers to scikit-learn's classes, with the same scores."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC, LinearSVC

from margins.estimators.fitted import dense_coef
from margins.estimators.predictions import check_exportable, is_calibrated, selected
from margins.training.schemes import fitted_scheme

# scikit-learn has no hard margin.
LARGEST_C = 1e100


def to_sklearn(classifier: Any) -> LinearSVC | SVC | OneVsRestClassifier | OneVsOneClassifier:
    """Return a classifier as a fitted LinearSVC or SVC of scikit-learn, with the same scores.

    Parameters
    ----------
    classifier : fitted classifier of margins
        MarginClassifierCV without `calibration`: its `estimator_` is converted.

    Returns
    -------
    LinearSVC, SVC, OneVsRestClassifier or OneVsOneClassifier
        A fitted LinearSVC with the linear kernel, otherwise an SVC or, with several classes, a
        OneVsRestClassifier with one SVC for each class. With ``multi_class="ovo"``: one SVC or, with the
        linear kernel, a OneVsOneClassifier with a LinearSVC for each pair, which breaks ties by the
        scores. It has the parameters that both classes know; of penalties 'l1' with the squared hinge
        loss, otherwise 'l2'. Fitted again, it solves scikit-learn's
        problem: LinearSVC penalises the intercept, SVC does not.

    Raises
    ------
    TypeError
        If the classifier has no weight vector (voting), a kernel that SVC does not have, or was fitted
        with `calibration`, by whose probabilities it predicts.

    Examples
    --------
    >>> import margins
    >>> from margins.interchange import to_sklearn
    >>> X, y = [[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]], [1, 1, 0, 0]
    >>> classifier = margins.MarginClassifier(C=10, random_state=0).fit(X, y)
    >>> to_sklearn(classifier)
    LinearSVC(C=10.0, intercept_scaling=1.0, random_state=0)
    >>> bool((to_sklearn(classifier).predict(X) == classifier.predict(X)).all())
    True
    """
    if is_calibrated(classifier):
        raise TypeError(
            f"classifier of to_sklearn must predict by scores. Got a {type(classifier).__name__} with "
            "calibration, which predicts by probabilities. Convert its estimator_, and calibrate the "
            "result by CalibratedClassifierCV."
        )
    classifier = selected(classifier)
    check_exportable(classifier, "to_sklearn")
    scheme = fitted_scheme(classifier)
    model: Any
    if hasattr(classifier, "coef_"):
        model = _linear_pairs(classifier) if scheme.has_pairs else _linear(classifier)
    elif scheme.has_pairs:
        model = _kernel_pairs(classifier)
    elif len(classifier.classes_) == 2:
        model = _kernel(classifier, 0, classifier.classes_)
    else:
        model = _one_vs_rest(classifier)
    model.n_features_in_ = classifier.n_features_in_
    if hasattr(classifier, "feature_names_in_"):
        model.feature_names_in_ = classifier.feature_names_in_
    return model


def _common(classifier: Any) -> dict[str, Any]:
    """Return the parameters that LinearSVC and SVC have in common with the classifier."""
    C = float(classifier.C)
    return {
        "C": LARGEST_C if math.isinf(C) else C,
        "class_weight": classifier.class_weight,
        "random_state": classifier.random_state,
    }


def _linear(classifier: Any) -> LinearSVC:
    loss = classifier.loss if classifier.loss in ("hinge", "squared_hinge") else "squared_hinge"
    is_l1 = loss == "squared_hinge" and getattr(classifier, "penalty", "l2") == "l1"
    model = LinearSVC(
        **_common(classifier),
        **({"penalty": "l1", "dual": False} if is_l1 else {}),
        loss=loss,
        fit_intercept=classifier.fit_intercept,
        intercept_scaling=classifier.intercept_scaling or 1,
    )
    model.classes_ = classifier.classes_.copy()
    model.coef_, model.intercept_ = dense_coef(classifier).copy(), classifier.intercept_.copy()
    model.n_iter_ = classifier.n_iter_
    return model


def _linear_pairs(classifier: Any) -> OneVsOneClassifier:
    """Return a LinearSVC for each pair of classes, in which the second class is positive."""
    template, models = _linear(classifier), []
    for weights, intercept in zip(template.coef_, classifier.intercept_, strict=True):
        model = copy.copy(template)
        model.classes_, model.n_features_in_ = np.array([0, 1]), classifier.n_features_in_
        model.coef_, model.intercept_ = -weights[None, :], np.array([-intercept])
        models.append(model)
    combined = OneVsOneClassifier(LinearSVC(**template.get_params()))
    combined.estimators_, combined.classes_ = models, classifier.classes_.copy()
    combined.pairwise_indices_ = None
    return combined


def _kernel(classifier: Any, index: int, classes: np.ndarray) -> SVC:
    """Return an SVC for one binary problem; libsvm has the first class first, and opposite scores."""
    coefficients = classifier.dual_coef_[index]
    used = np.flatnonzero(coefficients)
    order = used[np.argsort(coefficients[used] > 0, kind="stable")]
    coefficients = coefficients[order][None, :]
    negative = int((coefficients < 0).sum())
    model = _svc(classifier, order, classes, coefficients, classifier.intercept_[[index]])
    model._dual_coef_, model._intercept_ = -model.dual_coef_, -model.intercept_
    model._n_support = np.array([negative, len(order) - negative], dtype=np.int32)
    return model


def _kernel_pairs(classifier: Any) -> SVC:
    """Return an SVC of several classes, whose pairs and dual variables are the same as in `OneVsOne`."""
    order, dual_coef = np.arange(len(classifier.support_)), classifier.dual_coef_.copy()
    intercept = classifier.intercept_.copy()
    model = _svc(classifier, order, classifier.classes_, dual_coef, intercept)
    model._dual_coef_, model._intercept_ = model.dual_coef_, model.intercept_
    model._n_support = classifier.n_support_.astype(np.int32)
    return model


def _svc(
    classifier: Any, order: np.ndarray, classes: np.ndarray, dual_coef: np.ndarray, intercept: np.ndarray
) -> SVC:
    """Return an SVC with these support vectors; the caller sets what depends on the class number."""
    kernel = classifier.kernel_
    parameters = {
        name: getattr(kernel, name) for name in ("gamma", "degree", "coef0") if hasattr(kernel, name)
    }
    model = SVC(**_common(classifier), kernel=kernel.name, **parameters)
    if kernel.name == "precomputed":  # there are no vectors, and the storage of none means nothing
        vectors = np.zeros(classifier.support_vectors_.shape)
    else:
        vectors = classifier.support_vectors_[order]
    is_sparse = sparse.issparse(vectors)
    if is_sparse:
        vectors = sparse.csr_array(vectors, dtype=np.float64)
        # libsvm reads int32 indices.
        vectors.indices = vectors.indices.astype(np.int32)
        vectors.indptr = vectors.indptr.astype(np.int32)
    else:
        vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    model.classes_ = classes.copy()
    model.class_weight_ = np.ones(len(classes))
    model.support_ = classifier.support_[order].astype(np.int32)
    model.support_vectors_ = vectors
    model.intercept_ = intercept
    model.dual_coef_ = _stored(dual_coef) if is_sparse else dual_coef
    model.shape_fit_ = (classifier.n_features_in_,) * 2  # for a precomputed kernel
    model.n_iter_ = np.array([classifier.n_iter_], dtype=np.int32)
    model.n_features_in_ = classifier.n_features_in_
    model.fit_status_ = 0
    model._probA = model._probB = np.empty(0)
    model._gamma = float(getattr(kernel, "gamma", 0.0))
    model._sparse = is_sparse
    model._effective_probability = False
    return model


def _stored(array: np.ndarray) -> sparse.csr_array:
    """Return an array as CSR that stores zeros, too: libsvm reads its elements in sequence."""
    n_rows, n_columns = array.shape
    columns = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    starts = np.arange(n_rows + 1, dtype=np.int32) * n_columns
    return sparse.csr_array((array.ravel(), columns, starts.astype(np.int32)), shape=array.shape)


def _one_vs_rest(classifier: Any) -> OneVsRestClassifier:
    classes = np.array([0, 1])
    models = [_kernel(classifier, index, classes) for index in range(len(classifier.classes_))]
    template = SVC(**models[0].get_params())
    combined = OneVsRestClassifier(template)
    combined.estimators_, combined.classes_ = models, classifier.classes_.copy()
    combined.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classifier.classes_)
    return combined
