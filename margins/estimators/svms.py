"""A fitted classifier as one of scikit-learn's: the same scores, from classes that everything knows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC, LinearSVC

from margins.estimators.exportable import check_exportable, selected

# scikit-learn's have no hard margin.
LARGEST_C = 1e100


def to_sklearn(classifier: Any) -> LinearSVC | SVC | OneVsRestClassifier:
    """A fitted classifier as scikit-learn's LinearSVC or SVC, with the same scores.

    Parameters
    ----------
    classifier : fitted classifier of margins
        Of MarginClassifierCV, its `estimator_`.

    Returns
    -------
    LinearSVC, SVC or OneVsRestClassifier
        Fitted: with the linear kernel a LinearSVC, with others an SVC, of several classes one for each.
        Its parameters are those that both have. Fitted again, it solves scikit-learn's problem:
        LinearSVC penalises the intercept, SVC does not.

    Raises
    ------
    TypeError
        If it has no weight vector (voting), or a kernel that SVC does not have.

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
    classifier = selected(classifier)
    check_exportable(classifier, "to_sklearn")
    if hasattr(classifier, "coef_"):
        return _with_features(_linear(classifier), classifier)
    if len(classifier.classes_) == 2:
        return _with_features(_kernel(classifier, 0, classifier.classes_), classifier)
    return _with_features(_one_vs_rest(classifier), classifier)


def _with_features(model: Any, classifier: Any) -> Any:
    model.n_features_in_ = classifier.n_features_in_
    if hasattr(classifier, "feature_names_in_"):
        model.feature_names_in_ = classifier.feature_names_in_
    return model


def _common(classifier: Any) -> dict[str, Any]:
    """The parameters that LinearSVC and SVC have, too."""
    C = float(classifier.C)
    return {
        "C": LARGEST_C if math.isinf(C) else C,
        "class_weight": classifier.class_weight,
        "random_state": classifier.random_state,
    }


def _linear(classifier: Any) -> LinearSVC:
    loss = classifier.loss if classifier.loss in ("hinge", "squared_hinge") else "squared_hinge"
    model = LinearSVC(
        **_common(classifier),
        loss=loss,
        fit_intercept=classifier.fit_intercept,
        intercept_scaling=classifier.intercept_scaling or 1,
    )
    model.classes_ = classifier.classes_.copy()
    model.coef_, model.intercept_ = classifier.coef_.copy(), classifier.intercept_.copy()
    model.n_iter_ = classifier.n_iter_
    return model


def _kernel(classifier: Any, index: int, classes: np.ndarray) -> SVC:
    """An SVC of one binary problem.

    In libsvm the support vectors of the first class come first, and its scores have the other sign.
    """
    kernel = classifier.kernel_
    parameters = {
        name: getattr(kernel, name) for name in ("gamma", "degree", "coef0") if hasattr(kernel, name)
    }
    model = SVC(**_common(classifier), kernel=kernel.name, **parameters)
    coefficients = classifier.dual_coef_[index]
    used = np.flatnonzero(coefficients)
    order = used[np.argsort(coefficients[used] > 0, kind="stable")]
    coefficients = coefficients[order][None, :]
    vectors = classifier.support_vectors_
    if kernel.name != "precomputed":
        vectors = vectors[order]
    is_sparse = sparse.issparse(vectors)
    if is_sparse:
        vectors = sparse.csr_array(vectors, dtype=np.float64)
        # libsvm reads indices of int32.
        vectors.indices = vectors.indices.astype(np.int32)
        vectors.indptr = vectors.indptr.astype(np.int32)
    else:
        vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    negative = int((coefficients < 0).sum())
    model.classes_ = classes.copy()
    model.class_weight_ = np.ones(len(classes))
    model.support_ = classifier.support_[order].astype(np.int32)
    model.support_vectors_ = vectors
    model.intercept_ = classifier.intercept_[[index]].copy()
    model.dual_coef_ = sparse.csr_array(coefficients) if is_sparse else coefficients
    model.shape_fit_ = (classifier.n_features_in_,) * 2  # of a precomputed kernel, both are samples
    model.n_iter_ = np.array([classifier.n_iter_], dtype=np.int32)
    model.n_features_in_ = classifier.n_features_in_
    model.fit_status_ = 0
    model._dual_coef_, model._intercept_ = -model.dual_coef_, -model.intercept_
    model._n_support = np.array([negative, len(order) - negative], dtype=np.int32)
    model._probA = model._probB = np.empty(0)
    model._gamma = float(getattr(kernel, "gamma", 0.0))
    model._sparse = is_sparse
    model._effective_probability = False
    return model


def _one_vs_rest(classifier: Any) -> OneVsRestClassifier:
    classes = np.array([0, 1])
    models = [_kernel(classifier, index, classes) for index in range(len(classifier.classes_))]
    template = SVC(**models[0].get_params())
    combined = OneVsRestClassifier(template)
    combined.estimators_, combined.classes_ = models, classifier.classes_.copy()
    combined.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classifier.classes_)
    return combined
