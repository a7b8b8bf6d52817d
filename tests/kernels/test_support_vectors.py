"""Support vectors: of kernels in the order of SVC, and of linear fits that keep dual variables."""

import math

import numpy as np
from fitted_clouds import make
from kernel_machines import integers
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

import margins


def test_support_vectors_are_ordered_by_class_as_those_of_svc():
    X, y, _ = integers(3)
    y = np.array(["c", "a", "b"])[y]
    weight = np.where(np.arange(len(y)) % 7, 1.0, 0.0)
    classifier = make("auto", kernel="rbf", loss="hinge").fit(X, y, weight)
    support, n_support = classifier.support_, classifier.n_support_
    assert n_support.dtype == np.int32 and n_support.sum() == len(support)
    ends = np.cumsum(n_support)
    for label, part in zip(classifier.classes_, np.split(support, ends[:-1]), strict=True):
        assert (y[part] == label).all() and (np.diff(part) > 0).all()
    assert_array_equal(classifier.support_vectors_, X[support])


def test_support_vectors_of_two_classes_are_those_of_svc():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=120) > 0
    for kernel in ("rbf", "linear"):
        params = {"kernel": kernel, "C": 2.0}
        ours = margins.MarginClassifier(loss="hinge", penalize_intercept=False, eps=1e-9, **params)
        svc = SVC(tol=1e-8, **params).fit(X, y)
        ours.fit(X, y)
        assert_array_equal(np.sort(ours.support_), np.sort(svc.support_))
        if kernel == "rbf":
            assert_array_equal(ours.support_, svc.support_)
            assert_array_equal(ours.n_support_, svc.n_support_)
            assert_allclose(ours.dual_coef_, svc.dual_coef_, rtol=1e-3, atol=1e-4)


def test_a_linear_fit_without_dual_variables_has_no_support():
    X, y, _ = integers(2)
    assert not hasattr(make("pdm", C=math.inf).fit(X, y), "support_")
    assert not hasattr(make("perceptron").fit(X, y), "support_")
    classifier = make("pdm", C=1.0).fit(X, y)
    assert_array_equal(classifier.support_, np.flatnonzero(classifier.dual_coef_[0]))
