"""The data, draws and figures of Khardon & Wachman's tables, and what the tables print."""

import itertools
import math

import noise_tolerance as script
import numpy as np
import pytest
import real_data
import runs
from noise_tolerance import Draws, Reading, artificial, classifier, permuted
from runs import AVERAGINGS, GRIDS
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold, PredefinedSplit

from margins.model_selection import Stages, double_cross_validation, parameter_search

OPTIONS = {"random_state": 0, "progress": False}


@pytest.fixture
def small_images(monkeypatch):
    """scikit-learn's digits, 8 x 8, for usps and mnist: values from 0 to 1 and from 0 to 16."""
    X, y = load_digits(return_X_y=True)

    def load(name, part):
        rows = slice(0, 200) if part == "train" else slice(200, 260)
        scale = 1 / 16 if name == "usps" else 1
        return real_data.Dataset(name, sparse.csr_matrix(X[rows] * scale), y[rows], "scikit-learn")

    monkeypatch.setattr(real_data, "load", load)


def test_training_and_test_set_of_the_digits_are_joined(small_images):
    X, y = script.data("usps")
    assert (X.min(), X.max()) == (-1, 1) and X.shape == (260, 64) and len(y) == 260
    X, y = script.data("mnist")
    assert sparse.issparse(X) and X.shape == (260, 64) and len(y) == 260
    # Only a kernel divides pixels.
    assert script.part_of("mnist", "test")[0].max() == 16
    assert script.part_of("mnist", "test", "poly")[0].max() == pytest.approx(16 / 255)


def test_parameters_that_are_not_searched_are_switched_off():
    params = classifier(runs.DEFAULT_RUN, averaging="longest").get_params()
    expected = {"tau": 0, "lam": 0, "alpha_bound": math.inf, "averaging": "longest"}
    expected |= {"shuffle": "never", "eta": 0.1, "max_iter": 100}
    assert {name: params[name] for name in expected} == expected


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_table_7_is_searched_on_a_held_out_fifth_of_the_training_set(small_images, kernel):
    drawn = Draws().draw(7, f"usps, {kernel}", 3, ("nothing", "tau"))
    X, y = permuted(*script.part_of("usps", "train"), 3)
    both = script.joined((X, y), script.part_of("usps", "test"))
    outer = [(np.arange(200), np.arange(200, 260))]
    splits = {"outer": outer, "inner": PredefinedSplit([-1] * 160 + [0] * 40)}
    run = {"eta": 0.1, "max_iter": 10} | (runs.POLY if kernel == "poly" else {})
    for averaging in AVERAGINGS:
        model = classifier(run, averaging=averaging)
        study = double_cross_validation(model, {"tau": GRIDS["tau"]}, *both, **splits, **OPTIONS)
        assert drawn[f"tau, {averaging}"] == pytest.approx(100 * study.mean())
    assert len(drawn) == 6 and min(drawn.values()) > 70


def test_training_sets_of_a_size_have_both_classes():
    y = np.array([0, 0, 0, 0, 1, 0, 1])
    rows = np.array([1, 2, 3, 5, 6, 4])
    assert script.first_of(rows, y, 3).tolist() == [1, 2, 6]
    assert script.first_of(rows, y, 5).tolist() == [1, 2, 3, 5, 6]
    assert script.sizes_of(np.zeros(1200), 10) == [10, 100, 1000]


@pytest.fixture
def few_epochs(monkeypatch):
    monkeypatch.setattr(runs, "DEFAULT_RUN", {"eta": 0.1, "max_iter": 3})
    return Draws(reading=Reading(folds=KFold(3)))


def study_of(table, data, column, averaging):
    """Return the Study of one column of Table 3 or 6; the paper's lambda is in units of eta."""
    run, is_inactive_allowed = runs.DEFAULT_RUN, table == 6
    units = {"lam": run["eta"]}
    stages = [
        {
            name: [value * units.get(name, 1) for value in GRIDS[name][not is_inactive_allowed :]]
            for name in names
        }
        for names in runs.COLUMNS[column]
    ]
    grid = Stages(*stages) if len(stages) > 1 else (stages or [{}])[0]
    model, folds = classifier(run, averaging=averaging), KFold(3)
    if table == 3:
        return parameter_search(model, grid, *data, cv=folds, **OPTIONS)
    return double_cross_validation(model, grid, *data, outer=folds, inner=folds, **OPTIONS)


def small(noise, seed):
    X, y = permuted(*artificial(noise, seed), seed)
    return X[:90], y[:90]


@pytest.mark.slow
def test_a_draw_has_the_accuracies_of_separate_studies(few_epochs, monkeypatch):
    monkeypatch.setattr(few_epochs, "_drawn", lambda name, seed: small(0.25, seed))
    # Of equal settings of a product, the two take the first in different orders: Table 3 does not care.
    for table, column in ((3, "tau-x-lambda"), (6, "tau")):
        columns = ("nothing", column, "alpha")
        drawn = few_epochs.draw(table, "noise 0.25", 4, columns)
        assert len(drawn) == 9
        for column, averaging in itertools.product(columns, AVERAGINGS):
            study = study_of(table, small(0.25, 4), column, averaging)
            assert drawn[f"{column}, {averaging}"] == pytest.approx(100 * study.mean())


def test_stages_choose_in_turn(few_epochs, monkeypatch):
    monkeypatch.setattr(few_epochs, "_drawn", lambda name, seed: small(0.1, seed))
    drawn = few_epochs.draw(6, "noise 0.1", 1, ("tau-then-alpha", "tau-then-lambda"))
    for column in ("tau-then-alpha", "tau-then-lambda"):
        study = study_of(6, small(0.1, 1), column, "last")
        assert drawn[f"{column}, last"] == pytest.approx(100 * study.mean())


def test_lambda_is_in_units_of_eta_unless_the_reading_says_otherwise(monkeypatch):
    monkeypatch.setattr(runs, "DEFAULT_RUN", {"eta": 0.1, "max_iter": 30})
    readings = [Reading(folds=KFold(3), lambda_of_eta=is_of_eta) for is_of_eta in (True, False)]
    draws = [Draws(reading=reading).draw(4, "noise 0", 0, ("lambda",)) for reading in readings]
    accuracies = [cells["lambda, last"] for cells in draws]
    data = permuted(*artificial(0.0, 0), 0)
    assert accuracies[0] == pytest.approx(100 * study_of(3, data, "lambda", "last").mean())
    assert accuracies[0] > accuracies[1]


@pytest.fixture
def figures(monkeypatch):
    """The script of the figures, on small data and few epochs."""
    figures = pytest.importorskip("noise_tolerance_figures", exc_type=ImportError)
    X, y = load_digits(n_class=2, return_X_y=True)
    monkeypatch.setattr(figures, "data", lambda name: (X, y))
    monkeypatch.setattr(runs, "present", lambda name: True)
    monkeypatch.setattr(runs, "FOLDS", 3)
    monkeypatch.setattr(figures, "DPI", 30)
    for run in ("DEFAULT_RUN", "ADULT_RUN"):
        monkeypatch.setattr(runs, run, {"eta": 0.4, "max_iter": 1})
    return figures


@pytest.mark.slow
def test_figures_are_written(figures, tmp_path, capsys):
    folder = tmp_path / "pictures"
    figures.main(["--out", str(folder)])
    names = [file.name for file in sorted(folder.iterdir())]
    assert names == ["noise_tolerance_figure_3.png", "noise_tolerance_figure_4.png"]
    assert capsys.readouterr().out.count("Figure") == 2


def test_learning_curves_have_every_size_that_the_folds_allow(figures):
    curves = figures.learning_curves(Draws())
    assert set(curves) == set(itertools.product(GRIDS["tau"], AVERAGINGS))
    for points in curves.values():
        sizes, accuracies, low, high = points.T
        assert sizes.tolist() == [10, 100]  # of 360 samples in three folds
        assert (low <= accuracies).all() and (accuracies <= high).all()
    assert curves[0, "voted"][1, 1] > 95


@pytest.mark.parametrize(
    ("accuracies", "relations"),
    [
        ([0.8, 0.8, 0.8], "V = L = C"),
        ([0.8, 0.9, 0.9], "V > C, L > C"),
        ([0.9, 0.7, 0.8], "V > L, C > L, C > V"),
        ([0.1 + 0.2, 0.3, 0.3], "V = L = C"),  # rounding is no difference
    ],
)
def test_relations_compare_three_accuracies(accuracies, relations):
    holds = zip(runs.RELATIONS, script.relations(accuracies), strict=True)
    assert ", ".join(relation for relation, is_true in holds if is_true) == relations
