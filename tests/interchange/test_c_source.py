"""Models in C are compiled and give the labels and scores of the classifier."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import margins
from margins.interchange import to_c

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wmissing-prototypes", "-Werror")


def data(n_classes=2, d=4, seed=0, m=80):
    X = np.random.default_rng(seed).normal(size=(m, d))
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1], [0] if n_classes == 2 else [-0.5, 0.2, 0.7])


def fitted(n_classes=2, d=4, **parameters):
    X, y = data(n_classes, d)
    return margins.MarginClassifier(random_state=0, **parameters).fit(X, y)


@pytest.fixture
def compiled(tmp_path):
    """``compiled(source)``: the library of a C file, without any warning."""

    def command(source):
        (tmp_path / "model.c").write_text(source, encoding="ascii")
        library = f"{len(list(tmp_path.iterdir()))}.so"  # a loaded one cannot be replaced
        files = "-shared", "-fPIC", "-o", library, "model.c", "-lm"
        done = subprocess.run(
            ["cc", "-std=c99", *WARNINGS, *files],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(tmp_path / library))

    return command


def results(library, X, n_scores):
    """The numbers of the predicted classes, and the scores, of all samples."""
    X, scores = np.ascontiguousarray(X, float), np.empty((len(X), n_scores))
    pointers = [
        (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(s.ctypes.data))
        for x, s in zip(X, scores, strict=True)
    ]
    for x, s in pointers:
        library.margins_scores(x, s)
    return np.array([library.margins_predict(x) for x, _ in pointers]), scores


@needs_compiler
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"multi_class": "ovo"},
        {"kernel": "rbf", "gamma": 3.0, "C": 100.0},
        {"kernel": "rbf", "multi_class": "ovo", "loss": "hinge"},
        {"kernel": "poly", "degree": 3, "coef0": 1.0},
        {"kernel": "poly", "degree": 2, "multi_class": "ovo"},
        {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
        {"kernel": "linear", "fit_intercept": False},
    ],
)
def test_scores_and_labels_are_the_same(parameters, n_classes, compiled):
    classifier = fitted(n_classes, **parameters)
    X = np.concatenate([data(seed=1)[0], np.zeros((1, 4))])
    expected = classifier.decision_function(X).reshape(len(X), -1)
    numbers, scores = results(compiled(to_c(classifier)), X, expected.shape[1])
    assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(classifier.classes_[numbers], classifier.predict(X))


@needs_compiler
@pytest.mark.parametrize("weights", ["float", "int16", "int8"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovr"), (4, "ovr"), (4, "ovo")])
def test_narrow_weights_keep_the_labels_that_are_proven(weights, n_classes, multi_class, compiled):
    classifier, X = fitted(n_classes, multi_class=multi_class), data(seed=2, m=5000)[0]
    source = to_c(classifier, weights=weights)
    numbers, _ = results(compiled(source), X, 1 if n_classes == 2 else n_classes)
    is_changed = classifier.classes_[numbers] != classifier.predict(X)
    assert is_changed.any() or weights != "int8"
    for x in X[is_changed]:
        with pytest.raises(ValueError, match=f"With '{weights}', up to 1 of 1 labels may change"):
            to_c(classifier, weights=weights, X=x[None])
    proven = to_c(classifier, weights=weights, X=X[:5])
    assert "none of the labels of the 5 samples" in proven and f"Weights are {weights}" in proven
    assert re.sub(r"\n \* This changes.*", "", proven) == source


def test_a_class_that_wins_all_its_pairs_needs_no_other_pair():
    classifier, X = fitted(4, multi_class="ovo"), data(seed=2, m=20000)[0]
    scores = X @ classifier.coef_.T + classifier.intercept_
    is_of_winner = (classifier.pairs_ == classifier.predict(X)[:, None, None]).any(axis=2)
    smallest = [
        np.where(mask, np.abs(scores), np.inf).min(axis=1) for mask in (is_of_winner, ~is_of_winner)
    ]
    chosen = (smallest[0] > 0.1) & (smallest[1] < 1e-4)
    assert chosen.any() and to_c(classifier, weights="int8", X=X[chosen])


def test_labels_that_may_change_are_counted():
    classifier = fitted()
    w, b = classifier.coef_[0], classifier.intercept_[0]
    far, near = data(seed=3)[0][:5], np.array([1.0, -1.0, 2.0, -2.0])
    far = far + 5 * np.sign(far @ w + b)[:, None] * w
    near -= (near @ w + b - 1e-7) / (w @ w) * w  # its score is 1e-7
    X = np.concatenate([far, near[None]])
    for weights in ("int16", "int8"):
        with pytest.raises(ValueError, match=f"With '{weights}', up to 1 of 6 labels may change"):
            to_c(classifier, weights=weights, X=X)
        assert to_c(classifier, weights=weights, X=far)
    assert to_c(classifier, X=X)
    near -= (near @ w + b) / (w @ w) * w
    with pytest.raises(ValueError, match="With 'double', up to 1 of 1 labels may change"):
        to_c(classifier, X=near[None])


@needs_compiler
@pytest.mark.parametrize(
    "labels", [['a"b??=\\*/', "na\u00efve\n%d"], [-(2**63), 7], [False, True], [-1.0, 2.0]]
)
def test_labels_are_those_of_the_classifier(labels, compiled):
    X, y = data()
    classifier = margins.get("pdm")(random_state=0).fit(X, np.array(labels)[y])
    library, kind = compiled(to_c(classifier)), type(classifier.classes_.tolist()[0])
    kinds = {
        str: ctypes.c_char_p,
        int: ctypes.c_longlong,
        bool: ctypes.c_longlong,
        float: ctypes.c_double,
    }
    values = (kinds[kind] * 2).in_dll(library, "margins_labels")
    assert [v.decode() if kind is str else v for v in values] == classifier.classes_.tolist()


@needs_compiler
def test_tiny_weights_and_a_scaler_before_them_are_written_in_full(compiled):
    X, y = data(d=40)
    X *= 10.0 ** np.arange(-20, 20)
    for model in (margins.MarginClassifier(), margins.MarginClassifier(kernel="rbf", gamma=0.1)):
        pipeline = make_pipeline(MaxAbsScaler(), model).fit(X, y)
        source = to_c(pipeline, X=X if model.kernel == "linear" else None)
        numbers, scores = results(compiled(source), X, 1)
        assert_array_equal(pipeline.classes_[numbers], pipeline.predict(X))
        assert_allclose(scores[:, 0], pipeline.decision_function(X), rtol=1e-12, atol=1e-12)
    tiny = margins.MarginClassifier(C=1e-3).fit(X * 1e-3, y)
    numbers, _ = results(compiled(to_c(tiny)), X * 1e-3, 1)
    assert_array_equal(tiny.classes_[numbers], tiny.predict(X * 1e-3))


def test_the_file_says_what_it_is():
    source = to_c(fitted(4, kernel="rbf", multi_class="ovo"))
    first = f"/* Model of margins {margins.__version__}: MarginClassifier, kernel rbf, 4 features, 4 "
    assert (
        source.startswith(first)
        and "margins_predict returns the number of the predicted class" in source
    )
    assert max(map(len, source.splitlines())) <= 105


def test_what_has_no_form_in_c_is_an_error():
    X, y = data()
    rbf = fitted(kernel="rbf")
    for options in ({"weights": "int8"}, {"X": X}):
        with pytest.raises(ValueError, match="weights and X of to_c are for linear classifiers"):
            to_c(rbf, **options)
    with pytest.raises(
        ValueError, match="weights of to_c must be one of 'double', 'float', 'int16', 'int8'"
    ):
        to_c(rbf, weights="int4")
    with pytest.raises(TypeError, match="kernel of to_c must be linear, rbf, poly, sigmoid"):
        to_c(margins.MarginClassifier(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(TypeError, match="classifier of to_c must have a weight vector"):
        to_c(margins.get("voted-perceptron")(random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="a Pipeline of a MaxAbsScaler and one. Got Pipeline"):
        to_c(make_pipeline(StandardScaler(), margins.MarginClassifier()).fit(X, y))
    selection = margins.MarginClassifierCV(calibration="sigmoid", cv=2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="export its estimator_"):
        to_c(selection)
    assert to_c(selection.estimator_)
    large = fitted()
    large.coef_ = large.coef_ * 1e40
    with pytest.raises(ValueError, match=r"must be 'double' for weights above 3\.4e\+38. Got 'float'"):
        to_c(large, weights="float")
