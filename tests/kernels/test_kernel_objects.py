"""Kernel objects: one file for a kernel, names and parameters, pickles and errors."""

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from kernel_machines import clouds
from kernel_of_one_file import RationalQuadratic
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import margins
from margins.estimators.base import BaseMarginClassifier
from margins.kernels import KERNELS, RBF, Kernel, Linear, Polynomial, Precomputed
from margins.kernels.selection import kernel_choice, kernel_parameter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# --------------------------------------------------------------------------------- a kernel in one file


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["mpu", "pdm", "perceptron", "voted-perceptron", "pfm", "pegasos"])
def test_kernel_of_one_file_trains_and_predicts(name, n_classes, container):
    X, y, Z = clouds(n_classes=n_classes)
    kernel = RationalQuadratic(alpha=1.5, length_scale=0.8)
    params = {"max_iter": 20, "random_state": 0} | ({"gamma": 0.1} if name == "pfm" else {})
    own = margins.get(name)(kernel=kernel, **params).fit(container(X), y)
    gram = margins.get(name)(kernel="precomputed", **params).fit(kernel.block(X, X), y)
    assert own.kernel_ == kernel
    assert own.n_updates_ == gram.n_updates_ > 0
    assert own.n_iter_ == gram.n_iter_ and own.converged_ == gram.converged_
    assert_array_equal(own.support_, gram.support_)
    scores = own.decision_function(container(Z))
    assert_allclose(scores, gram.decision_function(kernel.block(Z, X)), rtol=1e-9, atol=1e-9)
    assert_array_equal(own.predict(container(Z)), gram.predict(kernel.block(Z, X)))
    if container is np.asarray:
        function = margins.get(name)(kernel=lambda A, B: kernel(A, B), **params).fit(X, y)
        assert function.n_updates_ == own.n_updates_
        assert_allclose(function.decision_function(Z), scores, rtol=1e-9, atol=1e-9)


def test_kernel_of_one_file_has_a_name_and_reads_the_estimators_parameters(monkeypatch):
    monkeypatch.setitem(KERNELS, RationalQuadratic.name, RationalQuadratic)

    class WithAlpha(margins.get("pdm")):
        kernel: object = kernel_choice()
        alpha: float = kernel_parameter("alpha")

    X, y, Z = clouds()
    named = WithAlpha(kernel="rational-quadratic", alpha=1.5, random_state=0).fit(X, y)
    assert (named.kernel_.alpha, named.kernel_.length_scale) == (1.5, 1.0)
    given = margins.get("pdm")(kernel=RationalQuadratic(1.5), random_state=0).fit(X, y)
    assert_array_equal(named.dual_coef_, given.dual_coef_)
    assert_array_equal(named.decision_function(Z), given.decision_function(Z))
    assert "'rational-quadratic' is (1 + |x - z|**2" in " ".join(WithAlpha.__doc__.split())
    with pytest.raises(ValueError, match=r"^alpha of WithAlpha must be in \(0, inf\)\. Got -1"):
        WithAlpha(kernel="rational-quadratic", alpha=-1.0).fit(X, y)


def test_kernel_objects_are_values():
    kernel = RationalQuadratic(2.0)
    assert kernel == RationalQuadratic(2.0) != RationalQuadratic(3.0)
    for each in (kernel, RBF(0.5), Polynomial(2), Linear(), Precomputed()):
        assert pickle.loads(pickle.dumps(each)) == each
    X, y, Z = clouds()
    classifier = margins.get("pdm")(kernel=kernel, random_state=0)
    assert clone(classifier).kernel == kernel
    search = GridSearchCV(classifier, {"kernel": [kernel, RBF(10.0)]}, cv=2).fit(X, y)
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(copy.decision_function(Z), search.decision_function(Z))


@pytest.mark.parametrize("kernel", [RationalQuadratic(), RBF(), RBF("auto"), Polynomial(2, coef0=1.0)])
def test_kernel_objects_are_callables_of_scikit_learn(kernel):
    X, y, Z = clouds()
    theirs = SVC(kernel=kernel).fit(X, y)
    resolved = kernel.resolve(X)
    gram = SVC(kernel="precomputed").fit(resolved.block(X, X), y)
    assert_allclose(theirs.decision_function(Z), gram.decision_function(resolved.block(Z, X)), rtol=1e-6)
    assert_allclose(kernel(Z.tolist(), X.tolist()), resolved.block(Z, X))


# ------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize("named, given", [("rbf", RBF()), ("rbf", RBF(2.0)), ("poly", Polynomial(2))])
def test_a_kernel_object_equals_its_name(named, given):
    X, y, Z = clouds()
    params = {field: getattr(given, field) for field in vars(given)}
    by_name = margins.get("pdm")(kernel=named, random_state=0, **params).fit(X, y)
    by_object = margins.get("pdm")(kernel=given, random_state=0).fit(X, y)
    assert by_object.kernel_ == by_name.kernel_
    assert by_object.kernel_.gamma > 0
    assert_array_equal(by_object.decision_function(Z), by_name.decision_function(Z))


def test_every_kernel_is_accepted_by_its_name():
    assert sorted(KERNELS) == ["linear", "poly", "precomputed", "rbf", "sigmoid"]
    X, y, _ = clouds()
    for name, kernel in KERNELS.items():
        given = X @ X.T if name == "precomputed" else X
        classifier = margins.get("pdm")(kernel=name, max_iter=20).fit(given, y)
        assert type(classifier.kernel_) is kernel
        assert f"{name!r} is {kernel.formula}" in " ".join(type(classifier).__doc__.split())


def test_pfm_accepts_only_kernels_without_a_gamma():
    X, y, Z = clouds()
    pfm = margins.get("pfm")
    for name, kernel in KERNELS.items():
        has_gamma = hasattr(kernel(), "gamma")
        assert pfm.__dataclass_fields__["kernel"].metadata["allowed"].contains(name) == (not has_gamma)
    given = pfm(kernel=RBF(2.0), gamma=0.1, random_state=0).fit(X, y)
    gram = pfm(kernel="precomputed", gamma=0.1, random_state=0).fit(RBF(2.0).block(X, X), y)
    assert_allclose(given.decision_function(Z), gram.decision_function(RBF(2.0).block(Z, X)), rtol=1e-9)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: RBF(gamma=0.0), r"^gamma of RBF must be one of 'scale', 'auto' or .* Got 0"),
        (lambda: RBF(gamma="wide"), r"^gamma of RBF must be .* Got 'wide'"),
        (lambda: Polynomial(degree=-1), r"^degree of Polynomial must be an integer in .* Got -1"),
        (lambda: Polynomial(degree=1.5), r"^degree of Polynomial must be an integer in .* Got 1\.5"),
        (lambda: Polynomial(coef0=math.inf), r"^coef0 of Polynomial must be .* Got inf"),
        (lambda: RationalQuadratic(-1.0), r"^alpha of RationalQuadratic must be in \(0, inf\)\. Got -1"),
        (lambda: kernel_parameter("width"), r"of a kernel in \['linear', .*\]\. Got 'width'"),
    ],
)
def test_wrong_parameter_is_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -------------------------------------------------------------------------------------------- errors


def test_unknown_kernel_is_an_error_that_lists_the_known_ones():
    X, y, _ = clouds()
    kinds = "'linear', 'poly', 'precomputed', 'rbf', 'sigmoid'"
    message = rf"^kernel of \S+ \(\w+\) must be one of {kinds} or a callable\. Got"
    for kernel in ("laplacian", "RBF", None, 3):
        with pytest.raises(ValueError, match=message):
            margins.get("pdm")(kernel=kernel).fit(X, y)


@dataclass(frozen=True)
class Wrong(Kernel):
    """A kernel with a formula that returns no block."""

    result: object = None

    def transform(self, products, x_sqnorms, z_sqnorms):
        if products.ndim == 1:  # the diagonal
            return np.ones_like(products)
        return self.result


@pytest.mark.parametrize("result", [None, np.ones(3), 2.0, "number"])
def test_formula_that_returns_no_block_is_an_error_of_fit(result):
    X, y, _ = clouds()
    if result is None:
        result = np.full((1, 60), np.nan)
    with pytest.raises(ValueError, match=r"must return a finite array of shape|could not convert"):
        margins.get("pdm")(kernel=Wrong(result), cache_size=1e-6, random_state=0).fit(X, y)


def test_kernel_without_a_formula_is_an_error_that_names_the_missing_method():
    X, y, _ = clouds()
    with pytest.raises(NotImplementedError, match=r"Kernel must define transform\(products, "):
        margins.get("pdm")(kernel=Kernel()).fit(X, y)


@pytest.mark.parametrize("kernel", [Polynomial, RationalQuadratic])
def test_a_class_instead_of_a_kernel_is_an_error(kernel):
    message = f"kernel of MarginClassifier must be an instance. Got the class {kernel.__name__}"
    with pytest.raises(TypeError, match=message):
        margins.MarginClassifier(kernel=kernel).fit([[1.0], [2.0]], [0, 1])


def test_rows_too_long_for_distances_are_rejected():
    X, y, _ = clouds()
    X[7, 0] = 1e70
    for kernel in (RBF(1.0), RationalQuadratic()):
        with pytest.raises(ValueError, match="Row 7 of X is too long"):
            margins.get("pdm")(kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel 'poly' must have K\(x, x\) in .* for sample 7"):
        margins.get("pdm")(kernel=Polynomial(gamma=1.0)).fit(X, y)


def test_estimators_take_kernel_parameters_from_the_kernels():
    for name in ("kernel", "degree", "gamma", "coef0"):
        field = BaseMarginClassifier.__dataclass_fields__[name]
        if name != "kernel":
            assert field.default == getattr(Polynomial(), name)
            assert field.metadata["allowed"] == Polynomial.__dataclass_fields__[name].metadata["allowed"]
