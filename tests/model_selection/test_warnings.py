"""Fits that have not converged: one warning for a study, a path or folds, with a count and the worst."""

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import margins
from margins.losses import Hinge
from margins.model_selection import parameter_search

X, Y = load_breast_cancer(return_X_y=True)
SHORT = {"solver": "dcd", "max_iter": 1, "random_state": 0}


def warnings_of(function, *args, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (margins.MarginClassifier(**SHORT), {"C": [1.0, 1000.0]}),
        (margins.MarginClassifier(**SHORT), {"C": [1.0, 1000.0], "loss": ["hinge"]}),
        (
            make_pipeline(StandardScaler(), margins.get("pdm")(max_iter=1)),
            {"dynamicmarginperceptron__C": [1.0, 1000.0]},
        ),
    ],
    ids=["path", "alone", "pipeline"],
)
def test_a_study_warns_once(estimator, grid, n_jobs):
    messages = warnings_of(parameter_search, estimator, grid, X, Y, cv=3, n_jobs=n_jobs, random_state=0)
    assert len(messages) == 1
    assert re.match(
        "[56] of 6 fits of parameter_search did not converge. The fit with the l", messages[0]
    )
    assert "C': 1000.0" in messages[0] and "max_iter=1" in messages[0] and "fold" in messages[0]


def test_a_study_from_its_cache_warns_alike(tmp_path):
    def study():
        parameter_search(
            margins.MarginClassifier(**SHORT), {"C": [1.0]}, X, Y, cache=tmp_path, random_state=0
        )

    assert warnings_of(study) == warnings_of(study) != []


def test_a_path_warns_once_of_the_worst():
    (message,) = warnings_of(margins.svm_path, X, Y, [1.0, 1000.0], **SHORT)
    assert message.startswith(
        "svm_path did not converge for 2 of 2 values of C. The largest gap is at C="
    )


def test_folds_are_named():
    X, y = load_iris(return_X_y=True)
    classifier = margins.MarginClassifierCV(Cs=[1.0, 1000.0], eps=1e-6, cv=3, refit=False, **SHORT)
    (message,) = warnings_of(classifier.fit, X, y)
    worst = max(
        (problem.certificate.gap, fold, C, problem.name)
        for fold, of_fold in enumerate(classifier.fold_fits_)
        for C, fits in zip((1, 1000), of_fold, strict=True)
        for problem in fits
    )
    assert f"in fold {worst[1]}, C={worst[2]}, {worst[3]}." in message and "class" in worst[3]


class Exploding(Hinge):
    """Fails for one C."""

    name = "exploding"

    def __init__(self, C):
        if np.max(C) == 7:
            raise ArithmeticError("no such C")
        super().__init__(C)


def test_errors_name_the_fold_the_C_and_the_class():
    X, y = load_iris(return_X_y=True)
    notes = []
    for fit in (
        lambda: margins.svm_path(X, y, [1.0, 7.0], loss=Exploding),
        lambda: margins.MarginClassifierCV(Cs=[1.0, 7.0], loss=Exploding).fit(X, y),
        lambda: margins.MarginClassifier(C=7.0, loss=Exploding, max_time=1e9).fit(X, y),
    ):
        with pytest.raises(ArithmeticError) as error:
            fit()
        notes.append(" ".join(error.value.__notes__))
    assert "C=7, class 0" in notes[0] and "class 0" in notes[2]
    assert "C=7, class 0" in notes[1] and "fold 0" in notes[1]
