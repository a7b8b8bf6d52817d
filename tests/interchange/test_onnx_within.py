"""Classifiers within meta-estimators, converted by skl2onnx: what scikit-learn computes."""

import numpy as np
import pytest
from covering import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scikit_learn_checks import VERSION
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import margins
from margins.interchange import register_converters, to_onnx

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

SETS = {"two classes": load_breast_cancer, "three classes": load_iris}
CLASSIFIERS = {
    "linear": lambda: margins.MarginClassifier(),
    "rbf": lambda: margins.MarginClassifier(kernel="rbf"),
    "pdm": lambda: margins.get("pdm")(random_state=0),
}
CALIBRATED = {
    f"{method}, {'several' if ensemble else 'one'}": (method, ensemble)
    for method in ("sigmoid", "isotonic")
    for ensemble in (True, False)
}
# What skl2onnx converts rightly of LinearSVC. Of two classes it compares the scores within
# OneVsRestClassifier with 1/2, and gives StackingClassifier too many columns, with any classifiers.
OTHERS = {
    "one-vs-one": (OneVsOneClassifier, SETS),
    "one-vs-rest": (OneVsRestClassifier, ["three classes"]),
    "grid": (lambda each: GridSearchCV(each, {"C": [0.1, 1.0]}), SETS),
    "stacking": (
        lambda each: StackingClassifier([("a", each), ("b", LogisticRegression())]),
        ["three classes"],
    ),
}


def data(name):
    X, y = SETS[name](return_X_y=True)
    return StandardScaler().fit_transform(X).astype(np.float32), y


def outputs_of(model, *parts, **options):
    """What the converted model computes of each part of the samples."""
    register_converters()
    options["zipmap"] = False
    exported = skl2onnx.to_onnx(model, parts[0][:1], options=options, target_opset=17)
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    return [session.run(None, {session.get_inputs()[0].name: X}) for X in parts]


@pytest.mark.parametrize(("how", "classifier", "name"), every_pair(CALIBRATED, CLASSIFIERS, SETS))
def test_probabilities_of_calibrated_classifiers(how, classifier, name):
    X, y = data(name)
    method, ensemble = CALIBRATED[how]
    model = CalibratedClassifierCV(CLASSIFIERS[classifier](), method=method, ensemble=ensemble, cv=3)
    model.fit(X, y)
    parts = X[:1], X[:100]
    for part, (labels, probabilities) in zip(parts, outputs_of(model, *parts), strict=True):
        expected = model.predict_proba(part)
        assert probabilities.shape == expected.shape
        if method == "sigmoid":
            assert_allclose(probabilities, expected, atol=1e-5)
            assert_array_equal(labels, model.predict(part))
        else:  # skl2onnx takes the nearest of the scores that it was fitted to, and does not interpolate
            assert np.median(np.abs(probabilities - expected)) < 0.01
            assert np.mean(labels == model.predict(part)) > 0.95


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize(
    ("how", "name"), [(how, name) for how, (_, names) in OTHERS.items() for name in names]
)
def test_labels_of_other_meta_estimators(how, name, classifier):
    X, y = data(name)
    if how == "grid" and classifier == "pdm":
        pytest.skip("one of them is enough")
    model = OTHERS[how][0](CLASSIFIERS[classifier]()).fit(X, y)
    parts = X[:1], X
    for part, (found, *_) in zip(parts, outputs_of(model, *parts), strict=True):
        assert_array_equal(np.ravel(found), model.predict(part))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("method", [None, "sigmoid", "isotonic", "temperature"])
def test_a_selection_predicts_by_the_same_scores_or_probabilities(method, name):
    if method == "temperature" and VERSION < (1, 8):
        pytest.skip("needs scikit-learn 1.8")
    X, y = data(name)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.3, np.roll(y, 1), y)
    kinds = ({"kernel": "rbf"}, {"multi_class": "ovo"}) if name == "three classes" else ({},)
    for kind in kinds:
        model = margins.MarginClassifierCV(Cs=[0.1, 1.0], calibration=method, **kind)
        for each in (model.fit(X, y), make_pipeline(StandardScaler(), model).fit(X, y)):
            session = onnxruntime.InferenceSession(to_onnx(each).SerializeToString())
            labels, values = session.run(["label", "probabilities" if method else "scores"], {"X": X})
            assert_array_equal(labels, each.predict(X))
            expected = each.predict_proba(X) if method else each.decision_function(X)
            assert_allclose(values, expected, atol=1e-6 if method else 1e-4)
    if method:
        with pytest.raises(TypeError, match="within another estimator cannot be converted"):
            outputs_of(OneVsRestClassifier(model).fit(X, y), X[:5])


def test_labels_beyond_signed_integers_are_refused():
    y = np.array([0, 2**63], dtype=np.uint64)
    classifier = margins.MarginClassifier().fit([[0.0], [1.0]], y)
    with pytest.raises(ValueError, match="classes_ must be at most 9223372036854775807 to be exported"):
        to_onnx(classifier)


def test_dates_as_labels_are_refused():
    y = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
    for labels in (y, y - y[0]):
        classifier = margins.MarginClassifier().fit([[0.0], [1.0]], labels)
        with pytest.raises(ValueError, match=r"to be exported, not dates\. Got (dat|tim)e.*64\[D\]"):
            to_onnx(classifier)


def test_what_skl2onnx_converts_roughly_warns_and_what_it_does_not_is_refused():
    X, y = data("two classes")
    isotonic = CalibratedClassifierCV(margins.MarginClassifier(), method="isotonic").fit(X, y)
    with pytest.warns(UserWarning, match="does not interpolate probabilities of method='isotonic'"):
        to_onnx(isotonic)
    isotonic.method = "temperature"  # of scikit-learn 1.8
    with pytest.raises(TypeError, match="must be 'sigmoid' or 'isotonic' for ONNX. Got 'temperature'"):
        to_onnx(isotonic)


def test_pipelines_of_named_columns_are_converted_with_the_types_of_their_inputs():
    pandas = pytest.importorskip("pandas")
    types = pytest.importorskip("skl2onnx.common.data_types")
    ages, cities = np.arange(40.0), np.array(["x", "y"] * 20, object)
    frame = pandas.DataFrame({"age": ages, "city": cities})
    columns = ColumnTransformer([("a", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["city"])])
    model = make_pipeline(columns, margins.MarginClassifier()).fit(frame, (ages > 25) ^ (cities == "x"))
    with pytest.raises(ValueError, match="ColumnTransformer, takes columns by name. Call "):
        to_onnx(model)
    register_converters()
    inputs = [("age", types.FloatTensorType([None, 1])), ("city", types.StringTensorType([None, 1]))]
    exported = skl2onnx.to_onnx(model, initial_types=inputs, options={"zipmap": False})
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    given = {"age": ages[:, None].astype(np.float32), "city": cities[:, None]}
    labels, scores = session.run(["label", "scores"], given)
    assert_array_equal(labels.astype(bool), model.predict(frame))
    assert_allclose(scores, model.decision_function(frame), atol=1e-5)


def test_pipelines_of_text_name_the_way_out():
    texts = ["good film", "bad film", "good book", "bad book"]
    for vectorizer in (TfidfVectorizer(), HashingVectorizer(n_features=16)):
        model = make_pipeline(vectorizer, margins.MarginClassifier()).fit(texts, [1, 0, 1, 0])
        with pytest.raises(ValueError, match="Vectorizer, takes text or dicts. Call .*initial_types"):
            to_onnx(model)


def test_what_is_wrong_within_skl2onnx_is_wrong_for_scores_and_right_for_probabilities():
    """docs/interchange.md names these three: LinearSVC has them, so that nothing here can mend them."""
    classifier = LinearSVC
    X, y = data("two classes")
    labels = np.column_stack([y, X[:, 0] > 0])
    several = OneVsRestClassifier(classifier()).fit(X, labels)
    assert_array_equal(outputs_of(several, X[:100])[0][0], several.decision_function(X[:100]) > 0.5)
    several = OneVsRestClassifier(LogisticRegression()).fit(X, labels)
    assert_array_equal(outputs_of(several, X[:100])[0][0], several.predict(X[:100]))
    two = OneVsRestClassifier(margins.MarginClassifier()).fit(X, y)
    assert_array_equal(outputs_of(two, X)[0][0], two.decision_function(X) > 0.5)
    assert_array_equal(outputs_of(two, X, raw_scores=True)[0][0], two.predict(X))
    bagged = BaggingClassifier(classifier(), n_estimators=4, random_state=0).fit(X, y)
    assert outputs_of(bagged, X[:100])[0][0].shape == (4,)
    bagged = BaggingClassifier(LogisticRegression(), n_estimators=4, random_state=0).fit(X, y)
    assert_array_equal(outputs_of(bagged, X[:100])[0][0], bagged.predict(X[:100]))
    stacked = StackingClassifier([("a", classifier()), ("b", classifier())]).fit(X, y)
    with pytest.raises(Exception, match="coefficients size"):
        outputs_of(stacked, X[:100])
    stacked = StackingClassifier([("a", LogisticRegression()), ("b", LogisticRegression())]).fit(X, y)
    assert_array_equal(outputs_of(stacked, X[:100])[0][0], stacked.predict(X[:100]))
