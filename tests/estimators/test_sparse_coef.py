"""`sparsify` and `densify`: the same scores, wherever `coef_` is read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.linear_model import Perceptron

import margins
from margins.interchange import to_sklearn
from margins.persistence import dump, load


@pytest.fixture
def fitted():
    generator = np.random.default_rng(0)
    X = generator.random((60, 40)) * (generator.random((60, 40)) < 0.05)
    X[:, 30:] = 0  # features that no sample has
    return margins.get("perceptron")(random_state=0, max_iter=20), X, np.arange(60) % 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("interface", ["spmatrix", "sparray"])
def test_the_setting_of_scikit_learn_decides_the_type(fitted, interface):
    classifier, X, y = fitted
    if "sparse_interface" not in get_config():
        assert isinstance(classifier.fit(X, y).sparsify().coef_, sparse.sparray)
        return
    with config_context(sparse_interface=interface):
        coef = classifier.fit(X, y).sparsify().coef_
        assert type(coef) is type(Perceptron().fit(X, y).sparsify().coef_)
    assert_array_equal(classifier.predict(X), classifier.densify().predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_scores_are_the_same_wherever_coef_is_read(fitted, storage, tmp_path):
    classifier, X, y = fitted
    X = storage(X)
    coef, scores = classifier.fit(X, y).coef_, classifier.decision_function(X)
    margin = classifier.geometric_margin(X, y)
    assert classifier.sparsify() is classifier
    assert sparse.issparse(classifier.coef_) and classifier.coef_.nnz < 0.8 * coef.size
    assert_allclose(classifier.decision_function(X), scores, atol=1e-12)
    assert_allclose(classifier.geometric_margin(X, y), margin, atol=1e-12)
    assert_array_equal(to_sklearn(classifier).coef_, coef)
    dump(classifier, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert sparse.issparse(again.coef_)
    assert_allclose(again.decision_function(X), scores, atol=1e-12)
    assert classifier.densify() is classifier
    assert_array_equal(classifier.coef_, coef)
    classifier.sparsify().partial_fit(X, y)
    assert isinstance(classifier.coef_, np.ndarray)


def test_a_kernel_model_has_no_coef_to_sparsify():
    classifier = margins.MarginClassifier(kernel="rbf").fit([[0.0], [1.0]], [0, 1])
    for method in ("sparsify", "densify"):
        assert not hasattr(classifier, method)
        assert not hasattr(margins.get("voted-perceptron")(), method)
        classifier.set_params(kernel="linear")  # the model is that of the kernel
        with pytest.raises(AttributeError, match=f"{method} needs a linear classifier"):
            getattr(classifier, method)()
        classifier.set_params(kernel="rbf")
