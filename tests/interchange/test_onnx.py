"""ONNX models give the same labels and scores in onnxruntime."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import margins
from margins.interchange import register_converters, to_onnx

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def data(n_classes=2):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 4)).astype(np.float32)
    return X, np.digitize(X[:, 0], [0] if n_classes == 2 else [-0.5, 0.5])


def run(exported, X):
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    return session.run(["label", "scores"], {"X": X})


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "rbf", "gamma": 3.0, "C": 100.0},
        {"kernel": "poly", "degree": 3, "coef0": 1.0},
        {"kernel": "poly", "degree": 2},
        {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
        {"kernel": "rbf", "multi_class": "ovo"},
        {"multi_class": "ovo"},
    ],
)
def test_scores_and_labels_are_the_same(parameters, n_classes):
    X, y = data(n_classes)
    classifier = margins.MarginClassifier(random_state=0, **parameters).fit(X, y)
    labels, scores = run(to_onnx(classifier), X)
    expected = classifier.decision_function(X)
    assert scores.dtype == np.float32 and scores.shape == expected.shape
    assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    assert_array_equal(labels, classifier.predict(X))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_double_input_gives_double_scores(kernel):
    X, y = data()
    X = X.astype(np.float64) + 1e-9
    X = X @ X.T if kernel == "precomputed" else X
    classifier = margins.MarginClassifier(kernel=kernel, random_state=0).fit(X, y)
    _, scores = run(to_onnx(classifier, double=True), X)
    assert scores.dtype == np.float64
    assert_allclose(scores, classifier.decision_function(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("labels", [["no", "yes"], [-1.0, 2.0], [False, True]])
def test_labels_of_every_type_come_out(labels):
    X, y = data()
    y = np.array(labels)[y]
    classifier = margins.get("pdm")(random_state=0).fit(X, y)
    found, _ = run(to_onnx(classifier), X)
    assert_array_equal(np.asarray(found).astype(y.dtype), classifier.predict(X))


def test_converters_serve_skl2onnx_itself():
    X, y = data()
    register_converters()
    classifier = margins.get("pa-i")(random_state=0).fit(X, y)
    exported = skl2onnx.to_onnx(classifier, X[:1])
    assert_array_equal(run(exported, X)[0], classifier.predict(X))


def test_what_has_no_formula_is_an_error():
    X, y = data()
    with pytest.raises(TypeError, match="classifier of to_onnx must have a weight vector"):
        to_onnx(margins.get("voted-perceptron")(random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="kernel of to_onnx must be"):
        to_onnx(margins.get("pam")(kernel=lambda A, B: A @ B.T, random_state=0).fit(X, y))
