"""Invalid arguments of studies: rejected before any fit, by an error that says what, where, and got."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, RidgeClassifier

import margins
from margins.model_selection import (
    FitFailed,
    Stages,
    corrected_interval,
    double_cross_validation,
    parameter_search,
    t_interval,
)

X = np.arange(24.0).reshape(12, 2)
y = np.array([0, 1] * 6)
GOOD = {"estimator": RidgeClassifier(), "param_grid": {"alpha": [1.0]}, "X": X, "y": y}
PAM = {"estimator": margins.get("pam")()}

BAD = {
    "class": ({"estimator": RidgeClassifier}, "must be an instance of a scikit-learn classifier"),
    "regressor": ({"estimator": LinearRegression()}, "must be an instance of a scikit-learn classifier"),
    "tuple of grids": ({"param_grid": ({}, {})}, "NAME must be a dict, a list of dicts, or"),
    "no grid": ({"param_grid": 5}, "param_grid of NAME must be a dict of lists"),
    "no list": ({"param_grid": {"alpha": 1}}, "param_grid of NAME must be a dict of lists"),
    "string": ({"param_grid": {"alpha": "auto"}}, "param_grid of NAME must be a dict of lists"),
    "empty list": ({"param_grid": {"alpha": []}}, "param_grid of NAME must be a dict of lists"),
    "no settings": ({"param_grid": []}, "param_grid of NAME must hold at least 1 setting. Got []."),
    "unknown": ({"param_grid": {"beta": [1]}}, "RidgeClassifier. Got {'beta': 1}"),
    "stage": ({"param_grid": Stages({}, {"beta": [1]})}, "must hold parameters of RidgeClassifier"),
    "value": (PAM | {"param_grid": {"tau": [0, -1]}}, "must be in [0, 1e+60]"),
    "X": ({"X": 5}, "X of NAME must hold samples. Got 5."),
    "y": ({"y": y[:-1]}, "y of NAME must have one value for each of the 12 rows of X. Got 11."),
    "no y": ({"y": None}, "y of NAME must hold labels. Got None."),
    "columns": ({"y": X}, "y of NAME must have one dimension. Got shape (12, 2)."),
    "one class": ({"y": 0 * y}, "y of NAME must hold at least 2 classes. Got 1."),
    "real y": ({"y": y + 0.3 * X[:, 0]}, "continuous"),
    "weights": ({"sample_weight": [1]}, "sample_weight of NAME must have one value for each of the 12"),
    "words": ({"sample_weight": ["a"] * 12}, "sample_weight of NAME must hold numbers. Got dtype <U1."),
    "groups": ({"groups": [1]}, "groups of NAME must have one value for each of the 12"),
    "few folds": ({"CV": 1}, "CV of NAME must be at least 2. Got 1."),
    "True": ({"CV": True}, "CV of NAME must be an integer, a splitter"),
    "words for folds": ({"CV": "ten"}, "CV of NAME must be an integer, a splitter"),
    "no folds": ({"CV": []}, "CV of NAME must give at least 1 fold. Got none."),
    "no pair": ({"CV": [5]}, "Fold 0 of CV of NAME must be a pair (train, test). Got 5."),
    "beyond": ({"CV": [([0, 1], [12])]}, "Fold 0 of CV of NAME must hold indices of the 12 samples"),
    "empty": ({"CV": [([0, 1], [])]}, "at least 1 for training and 1 for testing"),
    "fold of a class": ({"CV": [([0, 2], [1])]}, "CV of NAME must train on at least 2 classes"),
    "metric": ({"scoring": "acuracy"}, "scoring of NAME must be a name in sklearn"),
    "no metric": ({"scoring": None}, "scoring of NAME must be a name, a callable, a list of names"),
    "no scorer": ({"scoring": {"a": 5}}, "scoring of NAME must be names or callables. Got 5."),
    "undecided": ({"scoring": ["accuracy", "f1"]}, "decides, one of 'accuracy', 'f1'. Got None."),
    "refit": ({"refit": "f1"}, "refit of NAME must name the metric that decides"),
    "n_jobs": ({"n_jobs": 0}, "n_jobs of NAME must be None or an integer other than 0. Got 0."),
    "half": ({"n_jobs": 1.5}, "n_jobs of NAME must be None or an integer other than 0. Got 1.5."),
    "progress": ({"progress": "bar"}, "progress of NAME must be None or True or False. Got 'bar'."),
    "seed": ({"random_state": -1}, "NAME must be None or an integer in [0, 4.29497e+09]"),
    "generator": ({"random_state": "0"}, "random_state of NAME must be None or an integer"),
    "cache": ({"cache": 5}, "cache of NAME must be a folder that can be written to, or None. Got 5"),
    "file": ({"cache": __file__}, "cache of NAME must be a folder that can be written to, or None."),
}


PROTOCOLS = {parameter_search: {"cv": 2}, double_cross_validation: {"outer": 2, "inner": 2}}


@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_rejected_before_any_work(bad, message, monkeypatch):
    def nothing(*args, **options):
        raise AssertionError("work has begun")

    monkeypatch.setattr("margins.model_selection.engine.run_all", nothing)
    for protocol, folds in PROTOCOLS.items():
        cv = next(iter(folds))
        changes = {cv if name == "CV" else name: value for name, value in bad.items()}
        expected = message.replace("NAME", protocol.__name__).replace("CV", cv)
        with pytest.raises((TypeError, ValueError), match=re.escape(expected)):
            protocol(**GOOD | folds | changes)


@pytest.mark.parametrize("inner", [[([0, 1], [2, 3])], "ten", None])
def test_inner_folds_cannot_be_rows_of_the_whole(inner):
    with pytest.raises(TypeError, match="inner of .* must be an integer or a splitter"):
        double_cross_validation(**GOOD, inner=inner)


def test_stages_need_at_least_one_grid():
    with pytest.raises(ValueError, match="Stages must hold at least 1 grid. Got none."):
        Stages()


@pytest.mark.parametrize(
    "interval", [t_interval, lambda *args: corrected_interval(args[0], 2, 1, *args[1:])]
)
def test_intervals_reject_invalid_values(interval):
    with pytest.raises(ValueError, match="values of an interval must be at least 1. Got none."):
        interval([])
    with pytest.raises(ValueError, match=r"confidence of an interval must be in \(0, 1\). Got 1."):
        interval([1, 2], 1)


def test_failures_of_a_fit_are_named():
    holes = np.where(X == 4, np.nan, X)
    with pytest.raises(FitFailed) as caught:
        parameter_search(
            RidgeClassifier(), {"alpha": [1.0]}, holes, y, cv=[([4, 5], [0, 1]), ([0, 1, 2, 3], [4])]
        )
    assert "RidgeClassifier of parameter_search, fold 1, with {'alpha': 1.0" in str(caught.value)
    assert "NaN" in str(caught.value)
    assert "in fit" in caught.value.__notes__[0]
