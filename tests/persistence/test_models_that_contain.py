"""Model files and exports of what contains a classifier: selections, calibrators, pipelines."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import margins
from margins.interchange import to_sklearn
from margins.persistence import dump, load

pytest.importorskip("skops")

X, Y = (part[::2] for part in load_iris(return_X_y=True))
MODELS = {
    "selection": lambda: margins.MarginClassifierCV(Cs=3, random_state=0),
    "selection of a kernel": lambda: margins.MarginClassifierCV(Cs=3, kernel="rbf"),
    "selection with probabilities": lambda: margins.MarginClassifierCV(Cs=3, calibration="sigmoid"),
    "selection without refit": lambda: margins.MarginClassifierCV(Cs=3, refit=False),
    "selection by a splitter": lambda: margins.MarginClassifierCV(Cs=2, cv=StratifiedKFold(3)),
    "calibrated": lambda: CalibratedClassifierCV(margins.MarginClassifier(kernel="rbf"), cv=3),
    "isotonic": lambda: CalibratedClassifierCV(margins.get("pdm")(), method="isotonic", ensemble=False),
    "pipeline": lambda: make_pipeline(StandardScaler(), margins.MarginClassifierCV(Cs=3)),
    "pipeline, calibrated": lambda: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(margins.MarginClassifier())
    ),
}


def saved(model):
    file = io.BytesIO()
    dump(model, file)
    return load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_a_saved_model_is_the_model(name, layout):
    if layout is not np.asarray and "pipeline" in name:
        pytest.skip("the scaler takes no sparse data")
    data = layout(X)
    model = MODELS[name]().fit(data, Y)
    again = saved(model)
    assert type(again) is type(model)
    if name == "selection without refit":
        assert again.C_ == model.C_
        assert not hasattr(again, "estimator_")
        return
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            assert_array_equal(getattr(again, method)(data), getattr(model, method)(data))
    if hasattr(model, "scores_"):
        assert_array_equal(again.scores_, model.scores_)
        assert again.fold_fits_ == model.fold_fits_
        assert_array_equal(saved(again).predict(data), model.predict(data))


def test_probabilities_in_a_file_of_version_0_3_have_no_unit():
    model = margins.MarginClassifierCV(Cs=[1.0], calibration="sigmoid").fit(X, Y)
    [part] = model._calibrated.calibrated_classifiers_
    expected = model.predict(X)
    for calibrator in part.calibrators:
        calibrator.a_ /= part.estimator.unit
    for estimator in (part.estimator, model._calibrated.estimator):
        del estimator.unit
    again = saved(model)
    assert_array_equal(again.predict(X), expected)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_not_fitted_stays_so(name):
    again = saved(MODELS[name]())
    assert str(again.get_params()) == str(MODELS[name]().get_params())


def test_a_damaged_part_is_refused():
    model = margins.MarginClassifierCV(Cs=3).fit(X, Y)
    model.estimator_.coef_ = model.estimator_.coef_[:, :2]
    file = io.BytesIO()
    dump(model, file)
    with pytest.raises(ValueError, match="contains a damaged MarginClassifier: coef_ must be"):
        load(io.BytesIO(file.getvalue()))


def test_a_selection_is_exported_as_its_classifier():
    model = margins.MarginClassifierCV(Cs=3).fit(X, Y)
    exported = to_sklearn(model)
    assert_allclose(exported.decision_function(X), model.decision_function(X), rtol=1e-9)
    with pytest.raises(ValueError, match="needs a fit with refit=True"):
        to_sklearn(margins.MarginClassifierCV(Cs=3, refit=False).fit(X, Y))
    model = margins.MarginClassifierCV(Cs=3, calibration="sigmoid").fit(X, Y)
    with pytest.raises(TypeError, match="must predict by scores. Got .* Convert its estimator_"):
        to_sklearn(model)
