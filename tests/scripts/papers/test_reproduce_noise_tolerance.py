"""The reproduction of Khardon & Wachman's tables: what it reads, chooses, marks and writes."""

import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import noise_tolerance_blocks as blocks
import noise_tolerance_data as data
import noise_tolerance_report as report
import noise_tolerance_tables as tables
import numpy as np
import pytest
import real_data
import reproduce_noise_tolerance as script
from noise_tolerance_studies import (
    AVERAGINGS,
    OFF,
    HoldOut,
    Studies,
    classifier,
    first_of,
    grid_of,
    sizes_of,
)
from scipy import sparse
from sklearn.datasets import load_digits

from margins.model_selection import Stages, t_interval

SCRIPT = Path(script.__file__)


def needs(name):
    """Mark of a test that reads a real data set."""
    return pytest.mark.skipif(
        not (os.environ.get("MARGINS_DATA") and name in real_data.available()),
        reason=f"MARGINS_DATA does not lead to {name}: the real data sets are not part of the project",
    )


def run(tmp_path, *options):
    """The blocks that the script writes."""
    file = tmp_path / "results.json"
    script.main([*options, "--json", str(file)])
    written = json.loads(file.read_text())
    assert set(written) == {"source", "environment", "arguments", "data_sets"}
    assert str(tmp_path) not in file.read_text()
    return written["data_sets"]


def check_rows(result, columns):
    """The rows are those of the columns, and say what follows from their accuracies."""
    pairs = [(row["column"], row["averaging"]) for row in result["rows"]]
    assert pairs == list(itertools.product(columns, AVERAGINGS))
    for row in result["rows"]:
        low, high = row["interval"]
        assert 0 <= row["accuracy"] <= 100
        assert row["accuracy"] == pytest.approx(np.mean(row["accuracies"]))
        # Intervals end at 0 and 100; of several repeats that of one may.
        if low > 0 and high < 100 and len(row["accuracies"]) == 1:
            assert row["accuracy"] == pytest.approx((low + high) / 2)
        assert 0 <= low <= row["accuracy"] <= high <= 100
        assert row["difference"] == pytest.approx(row["accuracy"] - row["paper"]["accuracy"])
        paper, half = row["paper"]["accuracy"], row["paper"].get("half_width", 0)
        distance = max(low - (paper + half), (paper - half) - high)
        if abs(distance) > 0.2:  # else rounding decides
            assert row["overlaps"] == (distance < 0)
        assert row["fit_seconds"] > 0


@needs("promoters")
def test_search_reports_the_paper_s_numbers_beside_the_measured_ones(tmp_path):
    file = tmp_path / "results.json"
    options = ("--quick", "--tables", "3", "--datasets", "promoters", "--repeats", "2", "--json", file)
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (result,) = json.loads(file.read_text())["data_sets"]
    assert (result["table"], result["data"]) == (3, "promoters")
    assert (result["n_samples"], result["n_features"]) == (106, 228)
    assert result["run"] == {"eta": 0.1, "max_iter": script.QUICK["epochs"]}
    check_rows(result, ["nothing", "tau"])
    by_pair = {(row["column"], row["averaging"]): row for row in result["rows"]}
    assert by_pair["nothing", "last"]["paper"] == {"accuracy": 78.8}
    assert by_pair["tau", "voted"]["paper"] == {"accuracy": 93.4}
    assert by_pair["nothing", "last"]["chosen"] == [{}] * 6
    assert all(choice["tau"] in tables.GRIDS["tau"][1:] for choice in by_pair["tau", "last"]["chosen"])
    lines = [line for line in done.stdout.splitlines() if line.startswith(("nothing, ", "tau, "))]
    assert len(lines) == 6
    assert ["*" in line for line in lines] == [not row["overlaps"] for row in result["rows"]]


def test_artificial_data_need_no_files(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    options = ("--quick", "--tables", "2", "4", "--noise", "0.05", "0.25", "--repeats", "2")
    options += ("--epochs", "2")
    *counted, mild, strong = run(tmp_path, *options)
    for result in (mild, strong):
        check_rows(result, ["nothing", "tau"])
        assert 570 < result["n_samples"] < 600 and result["n_features"] == 50
        order = result["ordering"]
        assert order["better"] + order["equal"] + order["worse"] == 2
    assert mild["rows"][2]["accuracy"] > strong["rows"][2]["accuracy"]
    for result in counted:
        assert (result["table"], result["n_sets"], len(result["accuracies"])) == (2, 4, 4)
        assert result["paper"][5] == tables.TABLE_2[float(result["data"].split()[1])][5]
        expected = [sum(held) for held in zip(*map(report.relations, result["accuracies"]), strict=True)]
        assert result["relations"] == expected
    output = capsys.readouterr().out
    assert output.count("\nvoted >= last on average: ") == 2
    assert "\nTable 4, voted >= last on average: " in output


def test_double_cross_validation_has_the_paper_s_intervals_beside_the_measured_ones(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    columns = ("nothing", "tau-then-lambda")
    (result,) = run(tmp_path, "--quick", "--tables", "6", "--columns", *columns)
    assert result["data"] == "noise 0.05" and 570 < result["n_samples"] < 600
    check_rows(result, columns)
    assert result["rows"][0]["paper"] == {"accuracy": 81.7, "half_width": 6.5}
    assert result["rows"][5]["paper"] == {"accuracy": 88.8, "half_width": 4.8}
    assert [len(row["chosen"]) for row in result["rows"]] == [3] * 6  # one for each outer fold
    assert set(result["rows"][5]["chosen"][0]) == {"tau", "lam"}
    assert all(row["lockstep"] is True for row in result["rows"])


@needs("wpbc")
def test_svm_columns_are_linear_svc_over_the_paper_s_grids(tmp_path):
    options = ("--quick", "--tables", "6", "--datasets", "wpbc", "--columns", "svm-l1", "svm-l2")
    (result,) = run(tmp_path, *options)
    assert [(row["column"], row["averaging"]) for row in result["rows"]] == [
        ("svm-l1", "svm"),
        ("svm-l2", "svm"),
    ]
    assert [row["paper"]["accuracy"] for row in result["rows"]] == [78.6, 78.6]
    assert result["rows"][0]["chosen"][0]["C"] in [10.0**power for power in range(-5, 5)]
    assert 2 * result["rows"][1]["chosen"][0]["C"] in [10.0**power for power in range(-3, 5)]


def test_results_do_not_depend_on_threads_blocks_or_a_cache(tmp_path):
    def accuracies(*options):
        results = run(
            tmp_path, *("--quick", "--tables", "4", "--columns", "tau", "--epochs", "1", *options)
        )
        return [row["accuracies"] for row in results[-1]["rows"]]

    cache = ("--cache", str(tmp_path / "cache"))
    alone = accuracies("--noise", "0.1", *cache)
    assert any((tmp_path / "cache").iterdir())
    assert accuracies("--noise", "0.1", *cache) == alone
    assert accuracies("--noise", "0.1", "--n-jobs", "2") == alone
    assert accuracies("--noise", "0", "0.1") == alone
    assert accuracies("--noise", "0.1", "--seed", "1") != alone


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


@pytest.mark.parametrize("choose", ["hold-out", "hindsight"])
def test_optimization_reports_seconds_and_memory(tmp_path, small_images, capsys, choose):
    options = ("--tables", "7", "--kernels", "linear", "poly", "--choose", choose, "--gamma", "0.5")
    results = run(tmp_path, *options, "--columns", "nothing", "tau")
    names = ["usps, linear", "mnist, linear", "usps, poly", "mnist, poly"]
    assert [result["data"] for result in results] == names  # the files of adult are not there
    for result in results:
        check_rows(result, ["nothing", "tau"])
        assert result["peak_megabytes"] is None or result["peak_megabytes"] > 10
        assert all(row["score_seconds"] > 0 for row in result["rows"])
        (choice,) = result["rows"][-1]["chosen"]
        assert choice["tau"] in tables.GRIDS["tau"]
    assert all(row["accuracy"] > 70 for result in results[::2] for row in result["rows"])
    assert results[0]["run"] == {"eta": 0.1, "max_iter": 10}
    assert results[3]["run"] == {
        **{"eta": 1, "max_iter": 1, "kernel": "poly", "degree": 4, "gamma": 0.5, "coef0": 1},
    }
    output = capsys.readouterr().out
    assert "score" in output and "Peak memory" in output
    assert "Left out, for their files are not present: adult." in output
    if choose == "hindsight":  # tau = 0 is among the values
        for nothing, best in zip(results[0]["rows"][:3], results[0]["rows"][3:], strict=True):
            assert best["accuracy"] >= nothing["accuracy"]


def test_columns_that_a_table_has_not_are_left_out(tmp_path, small_images):
    options = ("--tables", "7", "--data", "mnist", "--columns", "alpha", "tau-then-lambda")
    (result,) = run(tmp_path, *options)
    check_rows(result, ["tau-then-lambda"])
    assert list(result["rows"][0]["chosen"][0]) == ["tau", "lam"]


def test_kernels_have_the_columns_that_the_paper_prints(tmp_path, small_images):
    options = ("--tables", "7", "--data", "mnist", "--kernels", "poly", "--columns", "lambda", "nothing")
    (result,) = run(tmp_path, *options)
    check_rows(result, ["nothing"])


@pytest.mark.parametrize(("share", "chosen_on"), [(0.2, 20), (None, 25)])
def test_parameters_are_selected_on_a_held_out_share_or_the_test_set(share, chosen_on):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(34, 2)), np.arange(34) % 2
    study = Studies(3).optimization(
        (X[:25], y[:25]), (X[25:], y[25:]), "tau", "voted", {"max_iter": 2}, share
    )
    (fold,), (table,) = study.folds, study.tables
    assert fold.train.tolist() == list(range(25)) and fold.test.tolist() == list(range(25, 34))
    ((train, test),) = table.splits
    assert train.tolist() == list(range(chosen_on))
    assert test.tolist() == list(range(chosen_on, 25 if share else 34))
    assert [setting["tau"] for setting in table.settings] == list(tables.GRIDS["tau"])


def test_a_hold_out_leaves_something_on_both_sides():
    for share, n_train in ((0.2, 8), (0.01, 9), (0.99, 1)):
        ((train, test),) = HoldOut(share).split(np.zeros((10, 1)))
        assert [*train, *test] == list(range(10)) and len(train) == n_train


def test_grids_are_the_active_values_unless_inactive_ones_are_requested():
    assert grid_of("nothing", inactive=False) == grid_of("nothing", inactive=True) == {}
    assert grid_of("tau", inactive=False) == {"tau": [0.125, 0.25, 0.5, 1, 2, 4]}
    assert grid_of("alpha", inactive=True) == {"alpha_bound": [math.inf, 80, 60, 40, 20, 10, 5]}
    assert set(grid_of("tau-x-lambda", inactive=True)) == {"tau", "lam"}
    staged = grid_of("tau-then-alpha", inactive=True)
    assert isinstance(staged, Stages) and [list(grid) for grid in staged.grids] == [
        ["tau"],
        ["alpha_bound"],
    ]


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
    study = Studies(3).double((X, y), "nothing", "last", {"max_iter": 2})
    assert [fold.test.tolist() for fold in study.folds] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_training_sets_of_a_size_have_both_classes():
    y = np.array([0, 0, 0, 0, 1, 0, 1])
    rows = np.array([1, 2, 3, 5, 6, 4])
    assert first_of(rows, y, 3).tolist() == [1, 2, 6]
    assert first_of(rows, y, 5).tolist() == [1, 2, 3, 5, 6]
    assert sizes_of((None, np.zeros(1200)), 10) == [10, 100, 1000]


def test_table_5_compares_with_the_paper_s_deviations(tmp_path, monkeypatch):
    X, y = load_digits(n_class=2, return_X_y=True)
    monkeypatch.setattr(blocks, "data", lambda name: (X, y))
    monkeypatch.setattr(script, "present", lambda name: True)
    (result,) = run(tmp_path, "--tables", "5", "--folds", "3", "--epochs", "1")
    assert {row["size"] for row in result["rows"]} == {10, 100}
    assert len(result["rows"]) == 2 * 7 * 3 and result["run"] == {"eta": 0.4, "max_iter": 1}
    row = next(row for row in result["rows"] if (row["tau"], row["averaging"]) == (0.5, "voted"))
    assert row["paper"] == {"accuracy": 73.6, "half_width": pytest.approx(0.754 * 5.6, abs=0.01)}
    assert row["deviation"] >= 0


def test_figures_are_written(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    import noise_tolerance_figures

    monkeypatch.setattr(noise_tolerance_figures, "DPI", 30)
    X, y = load_digits(n_class=2, return_X_y=True)
    monkeypatch.setattr(blocks, "data", lambda name: (X, y))
    for module in (script, blocks):
        monkeypatch.setattr(module, "present", lambda name: True)
    folder = tmp_path / "pictures"
    options = ("--figures", "3", "4", "--noise", "0.1", "--folds", "3", "--epochs", "1")
    script.main([*options, "--out", str(folder)])
    names = [file.name for file in sorted(folder.iterdir())]
    assert names == ["noise_tolerance_figure_3.png", "noise_tolerance_figure_4.png"]
    assert "Figure 3: " in capsys.readouterr().out


def test_a_figure_without_data_is_left_out(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    script.main(["--figures", "4", "--out", str(tmp_path)])
    assert "No Figure 4: the files of adult are not present." in capsys.readouterr().out


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
    assert report.relations([0.8, 0.8, 0.8]) == [False] * 6 + [True]
    assert report.relations([0.8, 0.9, 0.9]) == [True, False, True, False, False, False, False]
    assert report.relations([0.9, 0.7, 0.8]) == [False, True, False, False, True, True, False]
    assert report.relations([0.1 + 0.2, 0.3, 0.3]) == [False] * 6 + [True]  # rounding is no difference


@pytest.mark.parametrize(
    ("interval", "published", "overlaps"),
    [
        ((70.0, 80.0), {"accuracy": 75.0}, True),
        ((70.0, 80.0), {"accuracy": 80.0}, True),
        ((70.0, 80.04), {"accuracy": 80.1}, False),
        ((70.0, 80.06), {"accuracy": 80.1}, True),  # the paper's has one digit
        ((70.0, 80.0), {"accuracy": 69.0}, False),
        ((70.0, 80.0), {"accuracy": 69.0, "half_width": 1.0}, True),
        ((70.0, 80.0), {"accuracy": 85.0, "half_width": 4.0}, False),
    ],
)
def test_intervals_overlap_if_they_share_a_point(interval, published, overlaps):
    assert report.overlap(interval, published) == overlaps


@pytest.fixture(scope="module")
def studies():
    """Two repeats of a small study."""
    sets = [data.permuted(*data.artificial(0.1, seed), seed) for seed in (1, 2)]
    run = {"eta": 0.1, "max_iter": 2}
    return [Studies(3).search(each, "tau", "last", run) for each in sets]


def test_rows_hold_means_over_the_repeats(studies):
    row = report.row_of(studies, "tau", "last", {"accuracy": 0.0})
    assert row["accuracies"] == [100 * study.mean() for study in studies]
    lows, highs = zip(*(study.interval() for study in studies), strict=True)
    assert row["interval"] == pytest.approx([100 * np.mean(lows), 100 * np.mean(highs)])
    assert row["overlaps"] is False and row["difference"] == row["accuracy"]
    assert row["chosen"] == [{"tau": study.best_params["tau"]} for study in studies for _ in range(3)]
    assert report.row_of(studies, "tau", "last")["overlaps"] is None


def test_one_test_set_has_the_interval_of_a_proportion():
    X, y = data.artificial(0.1, 1)
    train, test = (X[:400], y[:400]), (X[400:], y[400:])
    study = Studies(3).optimization(train, test, "nothing", "last", {"max_iter": 1}, None)
    low, high = report.interval_of(study)
    p = study.mean()
    assert (low + high) / 2 == pytest.approx(100 * p)
    assert high - low == pytest.approx(200 * 1.96 * math.sqrt(p * (1 - p) / len(test[1])))


def test_paper_s_deviations_give_its_intervals():
    scores = [0.7, 0.8, 0.9, 0.75, 0.85, 0.8, 0.7, 0.9, 0.95, 0.6]
    low, high = t_interval(scores)
    assert (high - low) / 2 == pytest.approx(report.HALF_PER_DEVIATION * np.std(scores), rel=1e-4)


def rows(**accuracies):
    """Rows of the column "nothing" from each averaging's accuracies; the paper's are 80, +-1."""
    return [
        {
            **report.compared(values, [(value - 1, value + 1) for value in values], {"accuracy": 80.0}),
            **{"column": "nothing", "averaging": averaging, "chosen": []},
        }
        for averaging, values in accuracies.items()
    ]


def test_intervals_apart_are_marked():
    found = rows(last=[81.0], longest=[83.1], voted=[78.9])
    result = blocks.result_of(3, "data", (np.zeros((4, 2)), None), {"eta": 0.1}, found)
    assert report.text(result).splitlines() == [
        "",
        "Table 3, data: 4 x 2, eta = 0.1",
        "",
        "                   accuracy           +-        ours -",
        "column, averaging     paper  ours  paper  ours   paper     chosen",
        "-----------------------------------------------------------------",
        "nothing, last          80.0  81.0      -   1.0    +1.0",
        "nothing, longest       80.0  83.1      -   1.0    +3.1  *",
        "nothing, voted         80.0  78.9      -   1.0    -1.1  *",
    ]
    said = report.summary([result]).splitlines()
    assert said[1] == "Table 3: 1 of 3 overlap the paper's; mean of ours - paper: +1.0. Apart:"
    assert said[2:] == ["  data, nothing, longest: +3.1", "  data, nothing, voted: -1.1"]


def test_most_frequent_choice_is_shown():
    row = {"chosen": [{"tau": 1.0, "lam": 2.0}, {"tau": 0.5, "lam": 2.0}, {"tau": 0.5, "lam": 2.0}]}
    assert report.chosen_text(row) == "0.5, 2"


def test_ordering_compares_the_means_and_counts_the_data_sets():
    found = rows(last=[80.0, 70.0, 90.0], voted=[82.0, 75.0, 89.0])
    assert report.ordering(found) == {"holds": True, "better": 2, "equal": 0, "worse": 1}
    wrong = rows(last=[80.0], voted=[79.0])
    assert not report.ordering(wrong)["holds"]
    assert report.ordering([]) is None
    result = {"table": 4, "data": "noise 0.1", "rows": wrong, "ordering": report.ordering(wrong)}
    assert report.summary([result]).endswith("not at noise 0.1")


def rejected(capsys, *options):
    """The message of the script when it exits with code 2."""
    with pytest.raises(SystemExit) as stop:
        script.main(options)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_invalid_options_are_rejected_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    assert "(not set)" in rejected(capsys, "--tables", "3")
    monkeypatch.setenv("MARGINS_DATA", str(tmp_path))
    assert "Got none of mnist, usps" in rejected(capsys, "--tables", "7", "--data", "usps", "mnist")
    assert "Got none to run of sonar" in rejected(capsys, "--tables", "7", "--data", "sonar")
    assert "invalid choice: 'a9a'" in rejected(capsys, "--data", "a9a")
    assert "--folds must be at least 2. Got 1" in rejected(capsys, "--folds", "1")
    assert "--share must be in (0, 1). Got 1" in rejected(capsys, "--share", "1")
    file = str(tmp_path / "nowhere" / "results.json")
    assert "can be written" in rejected(capsys, "--tables", "4", "--json", file)


def test_everything_present_runs_unless_something_is_named(monkeypatch):
    monkeypatch.setattr(script, "present", lambda name: True)

    def tables_and_figures(*options):
        _, arguments, found = script.parsed(options)
        return {table for table, _ in found}, arguments.figures

    assert tables_and_figures() == ({2, 3, 4, 5, 6, 7}, [3, 4])
    assert tables_and_figures("--tables", "6") == ({6}, [])
    assert tables_and_figures("--figures", "3") == (set(), [3])
    assert tables_and_figures("--quick") == ({2, 3, 4, 6}, [3])
    _, _, found = script.parsed(["--tables", "6"])
    assert [name for _, name in found][-1] == "noise 0.05" and len(found) == 8
    _, _, found = script.parsed(["--tables", "6", "--datasets", "wdbc"])
    assert [name for _, name in found] == ["wdbc"]
