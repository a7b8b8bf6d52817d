"""Unusual input of studies and of their displays."""

import itertools

import numpy as np
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import margins
from margins.model_selection import Stages, Study, compare, double_cross_validation, parameter_search

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 4))
y = (X[:, 0] + 0.5 * GENERATOR.normal(size=60) > 0).astype(int)


def pam(**params):
    return margins.get("pam")(max_iter=3, **params)


def search(estimator, grid, **params):
    return parameter_search(estimator, grid, X, y, **{"cv": 3, "random_state": 0} | params)


@pytest.mark.parametrize(
    ("first", "reason"),
    [({"averaging": ["tail"]}, "tail"), ({"kernel": ["rbf"]}, "linear"), ({"C": [1.0]}, "inf")],
)
def test_settings_of_an_earlier_stage_determine_lockstep(first, reason):
    study = search(pam(), Stages(first, {"tau": [0, 0.5]}))
    assert reason in study.lockstep_reason
    ((name, (value,)),) = first.items()
    together = search(pam(**{name: value}), {"tau": [0, 0.5]})
    assert study.tables[1].scores["accuracy"].tolist() == together.tables[0].scores["accuracy"].tolist()


def test_later_stage_is_checked_on_top_of_the_earlier_one():
    study = search(pam(), Stages({"tau": [0.0]}, {"theta_init": [0, 1]}))
    assert study.best_params["tau"] == 0
    with pytest.raises(ValueError, match=r"param_grid of parameter_search must hold.*tau"):
        search(pam(), Stages({"tau": [1.0]}, {"theta_init": [0, 1]}))


def test_settings_of_scikit_learn_reach_every_thread():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(
        StandardScaler(), make_column_transformer((StandardScaler(), ["a", "b"])), LogisticRegression()
    )
    grid = {"logisticregression__C": [1, 2]}
    with sklearn.config_context(transform_output="pandas"):
        one, two = (
            parameter_search(model, grid, frame, y, cv=3, random_state=0, n_jobs=n_jobs)
            for n_jobs in (1, 2)
        )
    assert one == two


def test_generator_of_folds_goes_with_a_cache(tmp_path):
    study = search(pam(), {"tau": [0, 0.5]}, cv=KFold(3).split(X), cache=tmp_path, random_state=None)
    assert len(study.folds) == 3


def test_arrays_as_values_of_parameters():
    grid = {"priors": [np.array([0.5, 0.5]), np.array([0.2, 0.8])]}
    study = double_cross_validation(
        LinearDiscriminantAnalysis(), grid, X, y, outer=4, inner=3, random_state=1
    )
    assert sum(share for _, share in study.selection_frequencies) == pytest.approx(1)
    assert "chosen by" in study.summary()


def test_values_that_are_not_equal_to_themselves_are_counted_together():
    study = search(pam(), {"gamma": ["scale"]}, scoring={"kFold": "accuracy"})
    for fold in study.folds:
        fold.best_params["gamma"] = float("nan")
    assert len(study.selection_frequencies) == 1
    assert Study.from_json(study.to_json()) == study


@pytest.mark.parametrize("reason", [None, "callbacks are set"])
def test_a_record_of_version_0_2_says_why_it_was_not_in_lockstep(reason):
    study = search(pam(), {"tau": [0]})
    text = study.to_json().replace('"lockstep_reason": null', '"lockstep": OLD')
    assert "OLD" in text
    old = Study.from_json(text.replace("OLD", "true" if reason is None else f'"{reason}"'))
    assert old.lockstep is (reason is None) and old.lockstep_reason == reason
    assert old.path is False and old.path_reason == study.path_reason


def test_metrics_have_names():
    with pytest.raises(TypeError, match=r"scoring of parameter_search must be .*dict"):
        search(pam(), {"tau": [0]}, scoring={1: "accuracy"})


def test_infinite_scores_lose_nothing():
    scores = itertools.cycle([np.inf, -np.inf, 0.0])
    study = search(
        LogisticRegression(),
        {"C": [1.0]},
        scoring={"odd": lambda *_: next(scores), "accuracy": "accuracy"},
        refit="accuracy",
    )
    assert np.isnan(study.mean("odd"))


def test_estimators_within_lists_are_seeded():
    model = VotingClassifier([("a", pam())])
    grid = {"estimators": [[("a", margins.get("pam")(max_iter=1))]]}
    one, two = (search(model, grid) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("text", ['{"!Foo": {}}', '{"!Study": {}}', "[]", "nonsense"])
def test_text_that_is_not_a_study_is_rejected(text):
    with pytest.raises(ValueError, match="text of Study.from_json must come from"):
        Study.from_json(text)


# -------------------------------------------------------------------------------------------- pictures

plotting = pytest.importorskip("margins.plotting")


def test_picture_of_a_comparison_by_another_metric():
    metrics = {"scoring": ["accuracy", "roc_auc"], "refit": "accuracy"}
    studies = {
        "long": search(pam(), {"tau": [0, 1]}, **metrics),
        "short": search(margins.get("pam")(max_iter=1), {"tau": [0]}, **metrics),
    }
    display = plotting.ComparisonDisplay.from_studies(
        compare(studies), metric="roc_auc", kind="differences", confidence=0.5
    )
    (difference,) = compare(studies, metric="roc_auc", confidence=0.5).differences
    assert display.means.tolist() == [difference.mean]
    assert display.intervals.tolist() == [list(difference.corrected_interval)]


@pytest.mark.parametrize(
    "grid",
    [
        [{"tau": [0, 1]}, {"lam": [1, 2]}],
        {"class_weight": [None, {0: 1, 1: 2}], "tau": [0, 1]},
        {"tau": [10**20, 1, 2]},
    ],
)
def test_landscapes_of_any_grid(grid):
    display = plotting.LandscapeDisplay.from_study(search(pam(), grid))
    assert np.isfinite(display.scores).any()


def test_landscape_rejects_unknown_parameters():
    study = search(pam(), {"tau": [0, 1]})
    with pytest.raises(ValueError, match="zz"):
        plotting.LandscapeDisplay.from_study(study, metric="zz")
    with pytest.raises(ValueError, match=r"stage of LandscapeDisplay must be in \[-1, 0\]. Got 5"):
        plotting.LandscapeDisplay.from_study(study, stage=5)


def test_landscape_shows_the_best_score_next_to_nan():
    def score(estimator, X, y):
        return float("nan") if estimator.lam == 1 and estimator.tau == 0 else 0.5 + 0.1 * estimator.lam

    study = search(pam(), {"tau": [0, 1], "lam": [0, 1], "eta": [0.1, 0.2]}, scoring=score)
    display = plotting.LandscapeDisplay.from_study(study, x="tau")
    assert display.scores.tolist() == [[0.5, 0.6]]


def test_curves_need_distinct_names():
    fits = [pam().fit(X, y) for _ in range(2)]
    with pytest.raises(ValueError, match="names of .* must be 2 distinct names"):
        plotting.EpochsDisplay.from_estimator(*fits, names=["a", "a"])
