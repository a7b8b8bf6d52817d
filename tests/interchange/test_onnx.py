"""ONNX models give the same labels and scores in onnxruntime."""

import numpy as np
import pytest
from covering import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import margins
from margins.interchange import onnx_difference, register_converters, to_onnx
from margins.interchange.rounding import _keeps_label

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


def hard_samples(offset):
    """Three classes, of which some samples are nearly on a boundary."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:100, 0] = rng.choice([-0.5, 0.5], 100) + 1e-6 * rng.normal(size=100)
    return (X + offset).astype(np.float32).astype(np.float64), np.digitize(X[:, 0], [-0.5, 0.5])


OF_KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "poly", "degree": 3},
    {"kernel": "sigmoid", "gamma": 0.1},
]


@pytest.mark.parametrize(
    ("parameters", "multi_class", "offset"),
    every_pair(OF_KERNELS, ["ovr", "ovo"], [0.0, 100.0]),
    ids=str,
)
def test_single_precision_changes_no_label_that_is_proven_to_stay(parameters, multi_class, offset):
    X, y = hard_samples(offset)
    parameters = parameters | {"multi_class": multi_class, "max_iter": 30, "random_state": 0}
    classifier = margins.MarginClassifier(**parameters).fit(X, y)
    exported = to_onnx(classifier, precision="float32")
    assert not {tensor.data_type for tensor in exported.graph.initializer} & {11}  # DOUBLE
    difference = onnx_difference(classifier, exported, X)
    labels, _ = run(exported, X.astype(np.float32))
    proven = _keeps_label(classifier, X)
    assert_array_equal(labels[proven], classifier.predict(X)[proven])
    assert difference.n_unproven == (~proven).sum() >= difference.n_changed
    if parameters["kernel"] in ("linear", "rbf") or offset == 0:  # others of products of 1e5 cancel
        assert proven.mean() > 0.4
        assert difference.largest < 0.01


@pytest.mark.parametrize(
    ("unit", "parameters"),
    [
        (1e39, {}),  # samples above the range
        (1e-40, {"C": 1e80}),  # samples below it
        (1.0, {"C": 1e-42, "fit_intercept": False}),  # weights below it
        (1e15, {"kernel": "poly", "gamma": "auto"}),  # kernel values
        (1e20, {"kernel": "rbf"}),  # squares
        (1e-20, {"kernel": "rbf"}),  # gamma
    ],
    ids=str,
)
def test_numbers_outside_the_range_of_single_precision_prove_nothing(unit, parameters):
    X, y = hard_samples(0.0)
    classifier = margins.MarginClassifier(random_state=0, **parameters).fit(unit * X, y > 0)
    assert (classifier.predict(unit * X) == (y > 0)).mean() > 0.6
    assert not _keeps_label(classifier, unit * X).any()


def test_differences_of_double_graphs_pipelines_and_probabilities():
    X, y = hard_samples(0.0)
    selection = margins.MarginClassifierCV(calibration="sigmoid", Cs=[1.0], kernel="rbf").fit(X, y)
    assert onnx_difference(selection, to_onnx(selection, double=True), X).largest < 1e-12
    pipeline = make_pipeline(StandardScaler(), margins.MarginClassifier()).fit(X, y)
    exported = to_onnx(pipeline, precision="float32")
    assert onnx_difference(pipeline, exported, X)[1:] == (0, None)
    with pytest.raises(
        ValueError, match="precision of to_onnx with double=True must be float64. Got 'f"
    ):
        to_onnx(pipeline, double=True, precision="float32")
    with pytest.raises(ValueError, match="must be float64 or float32. Got 'bf16'"):
        to_onnx(pipeline, precision="bf16")


def test_skl2onnx_converts_selections_of_C():
    X, y = data()
    register_converters()
    selection = margins.MarginClassifierCV(Cs=[1.0], cv=3).fit(X, y)
    assert_array_equal(run(skl2onnx.to_onnx(selection, X[:1]), X)[0], selection.predict(X))
