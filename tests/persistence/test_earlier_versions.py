"""Model files, pickles and studies of earlier versions are read, and give what they gave."""

import json
import pickle

import numpy as np
import pytest
import stored_models
from numpy.testing import assert_array_equal

import margins
from margins.model_selection import Study
from margins.persistence import load

pytest.importorskip("skops.io")

STORED = sorted(path for path in stored_models.FOLDER.iterdir() if path.suffix != ".json")


def test_models_of_this_version_are_stored():
    kinds = {path.stem.removesuffix(f"-{margins.__version__}") for path in STORED}
    assert kinds >= {"study", *stored_models.MODELS}


@pytest.mark.parametrize(
    "path", [path for path in STORED if path.suffix != ".study"], ids=lambda path: path.name
)
def test_a_stored_model_predicts_as_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    classifier = load(path) if path.suffix == ".skops" else pickle.loads(path.read_bytes())
    assert type(classifier) is margins.get(expected["name"])
    assert classifier.get_params() | expected["params"] == classifier.get_params()
    X, y = stored_models.data(len(classifier.classes_))
    np.testing.assert_allclose(classifier.decision_function(X), expected["scores"], rtol=1e-12)
    assert [certificate.primal for certificate in classifier.certificates_] == expected["primal"]
    classifier.fit(X, y)


@pytest.mark.parametrize(
    "path", [path for path in STORED if path.suffix == ".study"], ids=lambda path: path.name
)
def test_a_stored_study_is_the_same_study_now(path):
    stored = Study.from_json(path.read_text(encoding="utf-8"))
    study = stored_models.study()
    for metric in study.metrics:
        assert_array_equal(stored.scores(metric), study.scores(metric))
    assert stored.selection_frequencies == study.selection_frequencies
    assert stored.versions["margins"] == path.stem.partition("-")[2]
    X, y = stored_models.data(2)
    weight = np.arange(30) % 3 + 1
    estimator = margins.MarginClassifier(eps=1e-3)
    assert len(stored.predictions(estimator, X, y, sample_weight=weight)) == 3
