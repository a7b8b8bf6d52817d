"""What a study says: means, intervals, frequencies, frames, text; and comparisons of studies."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import margins
from margins.model_selection import (
    Stages,
    Study,
    compare,
    corrected_interval,
    double_cross_validation,
    parameter_search,
    t_interval,
)

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:150] / X.max(axis=0), y[:150]
GRID = Stages({"tau": [0, 0.5, 1]}, {"alpha_bound": [math.inf, 5]})


def study_of(classifier=None, grid=GRID, **options):
    options = {"outer": 4, "inner": 3, "random_state": 0} | options
    return double_cross_validation(classifier or margins.get("pam")(max_iter=3), grid, X, y, **options)


@pytest.fixture(scope="module")
def study():
    return study_of(scoring=["accuracy", "f1"], refit="accuracy")


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_t_interval_matches_scipy(confidence):
    values = [0.91, 0.87, 0.95, 0.9, 0.99, 0.85, 0.93, 0.91, 0.9, 0.94]
    expected = stats.t.interval(confidence, 9, np.mean(values), stats.sem(values))
    low, high = t_interval(values, confidence)
    assert_allclose((low, high), expected, rtol=1e-12)
    if confidence == 0.95:  # of the paper, algorithms.md 3.4
        assert_allclose((high - low) / 2, 0.754 * np.std(values), rtol=1e-3)


def test_corrected_interval_has_the_larger_variance():
    values = np.array([0.91, 0.87, 0.95, 0.9])
    half = stats.t.ppf(0.975, 3) * math.sqrt((1 / 4 + 1 / 3) * np.var(values, ddof=1))
    assert_allclose(corrected_interval(values, 300, 100), [values.mean() - half, values.mean() + half])
    assert_allclose(
        corrected_interval(values, [300, 100, 100, 100], [100, 100, 50, 50]),
        corrected_interval(values, 48, 28),
    )


def test_one_fold_has_no_interval():
    assert np.isnan(t_interval([0.9])).all() and np.isnan(corrected_interval([0.9], 2, 1)).all()


def test_intervals_of_a_study_come_from_its_folds(study):
    for metric in ("accuracy", "f1"):
        values = study.scores(metric)
        assert_array_equal(values, [fold.scores[metric] for fold in study.folds])
        assert study.interval(metric, 0.9) == t_interval(values, 0.9)
        sizes = [len(fold.train) for fold in study.folds], [len(fold.test) for fold in study.folds]
        low, high = corrected_interval(values, *sizes)
        assert study.corrected_interval(metric) == (low, min(high, 1))
    assert study.interval() == study.interval("accuracy")


def test_the_most_frequent_selection_is_first(study):
    chosen = [{"tau": tau} for tau in (0, 1, 1, 2)]
    folds = [
        replace(fold, best_params=setting) for fold, setting in zip(study.folds, chosen, strict=True)
    ]
    frequencies = replace(study, folds=folds).selection_frequencies
    assert frequencies == [({"tau": 1}, 0.5), ({"tau": 0}, 0.25), ({"tau": 2}, 0.25)]


def test_json_keeps_every_bit(study):
    loaded = Study.from_json(study.to_json())
    assert loaded == study and loaded.to_json() == study.to_json()
    for mine, theirs in zip(study.tables, loaded.tables, strict=True):
        assert_array_equal(mine.fit_times, theirs.fit_times)
    assert loaded.summary() == study.summary()


def test_json_names_what_it_cannot_hold():
    pipeline = Pipeline(
        [("scale", None), ("ridge", RidgeClassifier(class_weight={0: 1.5, 1: np.float64(0.1)}))]
    )
    grid = {"scale": [StandardScaler(), MinMaxScaler()], "ridge__alpha": np.array([0.1, 1.0])}
    study = study_of(pipeline, grid, outer=2, inner=2)
    loaded = Study.from_json(study.to_json())
    assert loaded == study == study_of(pipeline, grid, outer=2, inner=2)
    assert repr(loaded.tables[0].settings[0]) == "{'ridge__alpha': 0.1, 'scale': StandardScaler()}"


def test_studies_differ_where_a_bit_does(study):
    other = Study.from_json(study.to_json())
    other.tables[0].fit_times[0, 0] += 1  # but not by seconds
    assert other == study
    other.tables[0].scores["f1"][0, 0] = np.nextafter(other.tables[0].scores["f1"][0, 0], 2)
    assert other != study


def test_frames(study):
    pytest.importorskip("pandas")
    folds, settings, fits = (study.to_frame(rows) for rows in ("folds", "settings", "fits"))
    assert len(folds) == 4 and len(settings) == 4 * (3 + 2) and len(fits) == 3 * len(settings)
    assert_array_equal(folds["accuracy"], study.scores())
    assert_array_equal(folds["n_test"], [len(fold.test) for fold in study.folds])
    means = fits.groupby(["outer", "stage", "param_tau", "param_alpha_bound"], dropna=False)["f1"].mean()
    assert_allclose(sorted(means), sorted(settings["f1"]))
    chosen = settings[settings["chosen"] & (settings["stage"] == 1)]
    assert_array_equal(chosen["param_tau"], folds["param_tau"])
    with pytest.raises(ValueError, match="must be one of folds, settings, fits. Got 'rows'"):
        study.to_frame("rows")


def test_summary_holds_the_numbers(study):
    text = study.summary()
    for number in (study.mean(), study.mean("f1"), *study.interval(), *study.corrected_interval("f1")):
        assert f"{number:.4f}" in text
    assert "double cross-validation" in text and "tau=" in text and "lockstep" in text
    lines = [line for line in text.split("\n") if re.match(r"\d ", line)]
    numbers = [re.search(r"\d\.\d{4} ", line) for line in lines]
    assert len(numbers) == 4 and len({found.start() for found in numbers}) == 1  # aligned
    assert f"{study.mean():.4f}" in repr(study) and "of pam (PerceptronWithMargin), 4" in repr(study)
    assert "of pam (PerceptronWithMargin), accuracy decides" in study.summary()


def test_study_records_versions_estimator_and_parameters(study):
    assert study.versions["margins"] == margins.__version__
    assert study.estimator == "margins.algorithms.pam.PerceptronWithMargin"
    assert study.params["max_iter"] == 3
    with pytest.raises(ValueError, match="metric of a Study must be one of 'accuracy', 'f1'. Got 'auc'"):
        study.mean("auc")


def test_comparison_is_paired(study):
    peer = study_of(RidgeClassifier(), {"alpha": [0.1, 1]})
    found = compare([study, peer])
    (pair,) = found.differences
    expected = study.scores() - peer.scores()
    assert (pair.first, pair.second) == ("pam", "RidgeClassifier")
    assert_array_equal(pair.differences, expected)
    assert_allclose(pair.interval, stats.t.interval(0.95, 3, np.mean(expected), stats.sem(expected)))
    assert pair.corrected_interval == corrected_interval(expected, *study.sizes)
    text = compare({"a": study, "b": peer, "c": study}, confidence=0.9).summary()
    assert "a - b" in text and "a - c" in text and "b - c" in text and "90 %" in text
    assert f"{pair.mean:+.4f}" in text
    assert list(compare([study, study]).studies) == ["pam", "pam 2"]
    pytest.importorskip("pandas")
    assert_array_equal(found.to_frame("pairs")["difference"], [pair.mean])


def test_comparison_requires_the_same_folds_of_the_same_data(study):
    with pytest.raises(
        ValueError, match="the same data and the same folds. Got different ones for 'b' and 'a'"
    ):
        compare({"a": study, "b": study_of(random_state=1)})
    other = double_cross_validation(RidgeClassifier(), {}, X + 1, y, outer=4, inner=2, random_state=0)
    with pytest.raises(ValueError, match="the same data"):
        compare([study, other])
    with pytest.raises(ValueError, match="at least 2. Got 1"):
        compare([study])
    with pytest.raises(TypeError, match="Got one Study"):
        compare(study)
    with pytest.raises(TypeError, match="must be Studies. Got 5 for 'a'"):
        compare({"a": 5, "b": study})
    with pytest.raises(ValueError, match="Got 'auc'"):
        compare([study, study], metric="auc")


def test_a_parameter_search_is_a_study_too():
    study = parameter_search(RidgeClassifier(), {"alpha": [1, 2]}, X, y, cv=3, random_state=0)
    assert study.protocol == "parameter search" and len(study.tables) == 1
    assert Study.from_json(study.to_json()) == study
