"""The data, studies and figures behind Khardon & Wachman's tables, and what the tables print."""

import itertools
import math
import os

import noise_tolerance_data as data
import noise_tolerance_tables as tables
import numpy as np
import pytest
import real_data
from noise_tolerance_draws import Draws, relations
from noise_tolerance_studies import AVERAGINGS, OFF, Studies, classifier, first_of, sizes_of
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import PredefinedSplit

from margins.model_selection import double_cross_validation


def needs(name):
    """Mark of a test that reads a real data set."""
    return pytest.mark.skipif(
        not (os.environ.get("MARGINS_DATA") and name in real_data.available()),
        reason=f"MARGINS_DATA does not lead to {name}: the real data sets are not part of the project",
    )


@pytest.fixture
def small_images(monkeypatch):
    """scikit-learn's digits, 8 x 8, for usps and mnist: values from 0 to 1 and from 0 to 16."""
    X, y = load_digits(return_X_y=True)

    def load(name, part):
        rows = slice(0, 200) if part == "train" else slice(200, 260)
        scale = 1 / 16 if name == "usps" else 1
        return real_data.Dataset(name, sparse.csr_matrix(X[rows] * scale), y[rows], "scikit-learn")

    monkeypatch.setenv("MARGINS_DATA", "here")
    monkeypatch.setattr(real_data, "load", load)
    monkeypatch.setattr(real_data, "available", lambda: ["mnist", "usps"])


def test_samples_of_usps_have_its_original_values(small_images):
    X, y = data.images("usps", "train")
    assert (X.min(), X.max()) == (-1, 1) and X.shape == (200, 64) and len(y) == 200
    X, y = data.data("usps")
    assert X.shape == (260, 64) and len(y) == 260
    X, y = data.data("mnist")
    assert sparse.issparse(X) and X.shape == (260, 64) and len(y) == 260


def test_only_a_kernel_divides_pixels(small_images):
    assert data.images("mnist", "test")[0].max() == 16
    assert data.images("mnist", "test", "poly")[0].max() == pytest.approx(16 / 255)


@needs("usps")
def test_real_samples_of_usps_go_from_minus_one_to_one():
    X, y = data.images("usps", "test")
    assert X.shape == (2007, 256) and (X.min(), X.max()) == (-1, 1)
    assert sorted(set(y)) == list(range(10))


def test_what_is_not_searched_is_switched_off():
    model = classifier("longest", tables.DEFAULT_RUN)
    params = model.get_params()
    assert {name: params[name] for name in OFF} == {"tau": 0, "lam": 0, "alpha_bound": math.inf}
    assert (params["averaging"], params["shuffle"], params["eta"], params["max_iter"]) == (
        *("longest", "never", 0.1, 100),
    )


def test_folds_are_those_of_the_rows_as_they_are_permuted():
    X, y = data.permuted(np.arange(12.0)[:, np.newaxis], np.arange(12) % 2, seed=3)
    assert sorted(X[:, 0]) == list(range(12)) and np.array_equal(X[:, 0] % 2, y)
    (table,) = Studies(3).averagings((X, y), {"max_iter": 2}).tables
    tests = [test.tolist() for _, test in table.splits]
    assert tests == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_table_7_is_searched_on_a_held_out_fifth_of_the_training_set(small_images):
    drawn = Draws().draw(7, "usps, linear", 3, ("nothing", "tau"))
    X, y = data.permuted(*data.part_of("usps", "train"), 3)
    X_test, y_test = data.part_of("usps", "test")
    both = np.vstack([X, X_test]), np.concatenate([y, y_test])
    outer = [(np.arange(200), np.arange(200, 260))]
    splits = {"outer": outer, "inner": PredefinedSplit([-1] * 160 + [0] * 40)}
    for averaging in AVERAGINGS:
        model, grid = classifier(averaging, {"eta": 0.1, "max_iter": 10}), {"tau": tables.GRIDS["tau"]}
        study = double_cross_validation(model, grid, *both, **splits, random_state=0, progress=False)
        assert drawn[f"tau, {averaging}"] == pytest.approx(100 * study.mean())
    assert len(drawn) == 6 and min(drawn.values()) > 70


def test_training_sets_of_a_size_have_both_classes():
    y = np.array([0, 0, 0, 0, 1, 0, 1])
    rows = np.array([1, 2, 3, 5, 6, 4])
    assert first_of(rows, y, 3).tolist() == [1, 2, 6]
    assert first_of(rows, y, 5).tolist() == [1, 2, 3, 5, 6]
    assert sizes_of((None, np.zeros(1200)), 10) == [10, 100, 1000]


@pytest.fixture
def figures(monkeypatch):
    """The script of the figures, on small data and few epochs."""
    script = pytest.importorskip("noise_tolerance_figures", exc_type=ImportError)
    X, y = load_digits(n_class=2, return_X_y=True)
    monkeypatch.setattr(script, "data", lambda name: (X, y))
    monkeypatch.setattr(script, "present", lambda name: True)
    monkeypatch.setattr(script, "FOLDS", 3)
    monkeypatch.setattr(script, "DPI", 30)
    for run in ("DEFAULT_RUN", "ADULT_RUN"):
        monkeypatch.setattr(script, run, {"eta": 0.4, "max_iter": 1})
    return script


@pytest.mark.slow
def test_figures_are_written(figures, tmp_path, capsys):
    folder = tmp_path / "pictures"
    figures.main(["--out", str(folder)])
    names = [file.name for file in sorted(folder.iterdir())]
    assert names == ["noise_tolerance_figure_3.png", "noise_tolerance_figure_4.png"]
    assert capsys.readouterr().out.count("Figure") == 2


def test_learning_curves_have_every_size_that_the_folds_allow(figures):
    curves = figures.learning_curves(Studies(3))
    assert set(curves) == set(itertools.product(tables.GRIDS["tau"], AVERAGINGS))
    for points in curves.values():
        sizes, accuracies, low, high = points.T
        assert sizes.tolist() == [10, 100]  # of 360 samples in three folds
        assert (low <= accuracies).all() and (accuracies <= high).all()
    assert curves[0, "voted"][1, 1] > 95


def test_a_figure_without_data_is_an_error(figures, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    monkeypatch.setattr(figures, "present", data.present)
    with pytest.raises(SystemExit):
        figures.main(["--figures", "4"])
    assert "--figures 4 needs the files of a9a" in capsys.readouterr().err


def test_features_may_be_multiplied_by_a_constant():
    generator = np.random.default_rng(0)
    X = generator.integers(-3, 4, size=(64, 5)).astype(float)
    y = np.where(X[:, 0] + generator.normal(size=64) > 0, 1, -1)
    for averaging, setting in itertools.product(
        AVERAGINGS, [OFF, {"tau": 0.5, "lam": 0.25, "alpha_bound": 5}]
    ):
        model = classifier(averaging, {"eta": 0.1, "max_iter": 5}).set_params(**setting)
        small, large = (model.fit(c * X[:50], y[:50]).predict(c * X[50:]) for c in (1, 4))
        assert np.array_equal(small, large)


def test_published_tables_are_complete():
    for published in (*tables.TABLE_3.values(), *tables.TABLE_4.values()):
        assert [len(published[averaging]) for averaging in AVERAGINGS] == [len(tables.SEARCHED)] * 3
    for published in tables.TABLE_5.values():
        assert np.shape([published[averaging] for averaging in AVERAGINGS]) == (3, 2, len(tables.SIZES))
    for published in tables.TABLE_6.values():
        assert np.shape([published[averaging] for averaging in AVERAGINGS]) == (
            3,
            2,
            len(tables.COLUMNS),
        )
    for (_, kernel), published in tables.TABLE_7.items():
        length = len(tables.OPTIMIZED) if kernel == "linear" else 2
        assert [len(published[averaging]) for averaging in AVERAGINGS] == [length] * 3
    numbers = [
        number
        for table in (tables.TABLE_3, tables.TABLE_4, tables.TABLE_7)
        for block in table.values()
        for averaging in block.values()
        for number in averaging
    ]
    assert len(numbers) == 10 * 18 + 5 * 18 + 3 * 15 + 2 * 6
    assert all(number is None or 50 < number < 100 for number in numbers)
    assert set(tables.TABLE_3) | set(tables.TABLE_6_SVM) <= set(real_data.ENTRIES)
    assert list(tables.GRIDS["tau"]) == list(tables.TABLE_5)
    assert len(tables.TABLE_6) == 8 and set(tables.TABLE_6) - {"noise 0.05"} == set(tables.TABLE_6_SVM)


def test_dominance_in_table_2_adds_up():
    for row in tables.TABLE_2.values():
        counts = dict(zip(tables.RELATIONS, row, strict=True))
        assert len(row) == 7
        # Where all three are equal, no two differ.
        assert counts["V > C"] + counts["C > V"] <= 30 - counts["V = L = C"]
    assert sum(row[0] for row in tables.TABLE_2.values()) == 59  # the paper's text
    assert 150 - sum(row[5] for row in tables.TABLE_2.values()) == 138


def test_relations_are_those_of_three_accuracies():
    assert relations([0.8, 0.8, 0.8]) == [False] * 6 + [True]
    assert relations([0.8, 0.9, 0.9]) == [True, False, True, False, False, False, False]
    assert relations([0.9, 0.7, 0.8]) == [False, True, False, False, True, True, False]
    assert relations([0.1 + 0.2, 0.3, 0.3]) == [False] * 6 + [True]  # rounding is no difference
