"""Studies whose grids vary C alone: fits along the path, with the results of fits alone up to eps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import few_tumours, irises
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import margins
from margins.losses import Hinge
from margins.model_selection import (
    FitFailed,
    Stages,
    Study,
    double_cross_validation,
    parameter_search,
    study_paths,
    tasks,
)
from margins.model_selection.study_paths import reason_against
from margins.model_selection.tasks import LastStep

CS = [1.0, 100.0, 0.01, 0.1]


def classifier(**params):
    return margins.MarginClassifier(**{"eps": 1e-4, "random_state": 0} | params)


TWO_METRICS = ["balanced_accuracy", "accuracy"]


@pytest.mark.parametrize(
    ("load", "scoring", "params"),
    [
        (few_tumours, "accuracy", {}),
        (irises, TWO_METRICS, {}),
        (few_tumours, TWO_METRICS, {"loss": "hinge"}),
        (irises, "accuracy", {"loss": "hinge"}),
        (few_tumours, "accuracy", {"kernel": "rbf"}),
        (irises, TWO_METRICS, {"kernel": "rbf"}),
        (few_tumours, TWO_METRICS, {"class_weight": "balanced"}),
        (irises, "accuracy", {"loss": Hinge}),
    ],
)
def test_scores_match_separate_fits(load, scoring, params, monkeypatch):
    X, y = load()
    options = {"cv": 3, "scoring": scoring, "random_state": 0}
    options["refit"] = "accuracy" if isinstance(scoring, list) else None
    along = parameter_search(classifier(**params), {"C": CS}, X, y, **options)
    monkeypatch.setattr(study_paths, "reason_against", lambda estimator, searches: "forbidden")
    alone = parameter_search(classifier(**params), {"C": CS}, X, y, **options)
    assert along.path is True and not alone.path and alone.path_reason == "forbidden"
    assert along.tables[0].settings == alone.tables[0].settings == [{"C": C} for C in CS]
    for metric in along.metrics:
        one, other = (study.tables[0].scores[metric] for study in (along, alone))
        assert_allclose(one, other, atol=0.045)  # two samples of a test set
        assert_allclose(one.mean(axis=1), other.mean(axis=1), atol=0.01)


def test_double_cross_validation_searches_along_paths(monkeypatch):
    X, y = few_tumours()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    options = {"outer": 3, "inner": 3, "random_state": 0, "sample_weight": weight}
    along = double_cross_validation(classifier(), {"C": CS}, sparse.csr_matrix(X), y, **options)
    assert along.path is True
    assert "path: yes, each fit started from the fit of the next smaller C" in along.summary()
    assert Study.from_json(along.to_json()) == along
    monkeypatch.setattr(study_paths, "reason_against", lambda estimator, searches: "forbidden")
    alone = double_cross_validation(classifier(), {"C": CS}, sparse.csr_matrix(X), y, **options)
    assert "path: yes" not in alone.summary()
    for one, other in zip(along.tables, alone.tables, strict=True):
        assert_allclose(one.mean_scores(), other.mean_scores(), atol=0.02)


def test_stages_that_vary_C_go_along_it_and_others_do_not():
    X, y = few_tumours()
    stages = Stages({"fit_intercept": [True, False]}, {"C": CS})
    study = parameter_search(classifier(), stages, X, y, cv=3, random_state=0)
    assert study.path_reason == "C does not vary"
    assert len(study.tables) == 2


def test_no_finished_path_is_computed_twice(tmp_path, monkeypatch):
    X, y = few_tumours()
    calls = []
    train_along_c = study_paths.train_along_c

    def counted(*args, **kw):
        if len(calls) == 2:
            raise RuntimeError("stopped")
        calls.append(args[1])
        return train_along_c(*args, **kw)

    monkeypatch.setattr(study_paths, "train_along_c", counted)
    options = {"cv": 4, "random_state": 0, "cache": tmp_path}
    with pytest.raises(RuntimeError, match="stopped"):
        parameter_search(classifier(), {"C": CS}, X, y, **options)
    assert calls == [CS, CS]
    calls.clear()
    monkeypatch.setattr(
        study_paths, "train_along_c", lambda *a, **k: calls.append(1) or train_along_c(*a, **k)
    )
    study = parameter_search(classifier(), {"C": CS}, X, y, **options)
    assert len(calls) == 2
    again = parameter_search(classifier(), {"C": CS}, X, y, **options)
    assert len(calls) == 2 and again == study
    assert_array_equal(again.tables[0].fit_times, study.tables[0].fit_times)


def test_results_do_not_depend_on_workers():
    X, y = irises()
    one, two = (
        parameter_search(classifier(), {"C": CS}, X, y, cv=3, random_state=0, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert one == two


def test_a_failure_names_the_fit():
    X, y = few_tumours()
    with pytest.raises(tasks.FitFailed, match=r"fold 0, with \{'C': 1e-200\} failed"):
        parameter_search(classifier(), {"C": [1e-200, 1.0]}, X, y, cv=2, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "grid", "reason"),
    [
        (LinearSVC(), [{"C": 1.0}, {"C": 2.0}], "LinearSVC is not a MarginClassifier"),
        (classifier(), [{"C": 1.0}], "there is only one setting"),
        (classifier(), [{"C": 1.0}, {"C": np.inf}], "C=inf has no neighbours"),
        (classifier(), [{"C": 1.0}, {"C": "a"}], "C='a' has no neighbours"),
        (classifier(), [{"C": 1.0, "eps": 0.1}, {"C": 2.0, "eps": 0.2}], "more than C varies"),
        (classifier(), [{"C": 1.0, "eps": 0.1}, {"C": 2.0}], "more than C varies"),
        (classifier(), [{"eps": 0.1}, {"eps": 0.2}], "C does not vary"),
        (classifier(warm_start=True), [{"C": 1.0}, {"C": 2.0}], "warm_start=True"),
        (classifier(max_time=9.0), [{"C": 1.0}, {"C": 2.0}], "max_time=9.0 limits each fit"),
        (classifier(verbose=1), [{"C": 1.0}, {"C": 2.0}], "verbose=1 prints lines for every fit"),
        (classifier(), [{"C": 1.0, "eps": 0.1}, {"C": 2.0, "eps": 0.1}], None),
    ],
)
def test_the_reason_against_a_path_along_C_is_stated(estimator, grid, reason):
    assert reason_against(estimator, [grid]) == reason


def test_metrics_that_read_the_classifier_are_not_along_C():
    def size(estimator, X, y):
        return float(np.abs(estimator.coef_).sum())

    study = parameter_search(classifier(), {"C": CS}, *few_tumours(), cv=2, scoring=size)
    assert study.path_reason == "the metric 'size' may need more than the scores of a classifier"
    assert study.best_params == {"C": 100.0}


@pytest.mark.parametrize("estimator", [classifier(), margins.get("pam")(max_iter=5)])
def test_data_frames_take_the_routes_of_arrays(estimator):
    pandas = pytest.importorskip("pandas")
    X, y = few_tumours()
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    grid = {"C": CS} if hasattr(estimator, "eps") else {"tau": [0, 0.5], "alpha_bound": [3, 9]}
    studies = [parameter_search(estimator, grid, data, y, cv=3, random_state=0) for data in (X, frame)]
    assert studies[0].path == studies[1].path and studies[0].lockstep == studies[1].lockstep
    assert True in (studies[1].path, studies[1].lockstep)
    assert_array_equal(studies[0].tables[0].scores["accuracy"], studies[1].tables[0].scores["accuracy"])


@pytest.mark.parametrize(
    ("last", "grid", "route"),
    [
        (margins.MarginClassifier(eps=1e-6), {"classifier__C": CS}, "path"),
        (margins.get("pam")(max_iter=5), {"classifier__tau": [0, 1.0]}, "lockstep"),
        (margins.MarginClassifier(eps=1e-6), {"classifier__C": CS, "scale__copy": [True]}, None),
    ],
)
def test_a_pipeline_of_which_the_last_step_varies_is_trained_like_it(last, grid, route, monkeypatch):
    X, y = few_tumours()
    model = Pipeline([("scale", StandardScaler()), ("classifier", last)])
    options = {"cv": 3, "random_state": 0}
    found = parameter_search(model, grid, X, y, **options)
    assert (found.path, found.lockstep) == (route == "path", route == "lockstep")
    monkeypatch.setattr("margins.model_selection.engine.last_step", lambda *_: LastStep(None))
    alone = parameter_search(model, grid, X, y, **options)
    assert not alone.path and not alone.lockstep
    assert_allclose(found.tables[0].scores["accuracy"], alone.tables[0].scores["accuracy"], atol=1e-12)
    assert "classifier__" not in found.summary() or route is None


def test_weights_of_a_pipeline_are_an_error_on_the_fast_route_too():
    X, y = few_tumours()
    model = Pipeline([("scale", StandardScaler()), ("classifier", classifier())])
    with pytest.raises(FitFailed, match="sample_weight"):
        parameter_search(model, {"classifier__C": CS}, X, y, cv=3, sample_weight=np.ones(len(y)))
