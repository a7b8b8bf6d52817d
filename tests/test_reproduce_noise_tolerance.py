"""The reproduction of Khardon & Wachman's tables: what it reads, chooses, marks and writes."""

import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import noise_tolerance_tables as tables
import numpy as np
import pytest
import real_data
import reproduce_noise_tolerance as script
from scipy import sparse
from sklearn.datasets import load_digits

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
    report = json.loads(file.read_text())
    assert set(report) == {"source", "environment", "arguments", "data_sets"}
    assert str(tmp_path) not in file.read_text()
    return report["data_sets"]


def check_rows(result, columns):
    """The rows are those of the columns, and say what follows from their accuracies."""
    pairs = [(row["column"], row["readout"]) for row in result["rows"]]
    assert pairs == list(itertools.product(columns, script.READOUTS))
    for row in result["rows"]:
        assert 0 <= row["accuracy"] <= 100
        assert row["accuracy"] == pytest.approx(np.mean(row["accuracies"]))
        assert row["difference"] == pytest.approx(row["accuracy"] - row["paper"]["accuracy"])
        assert row["mark"].startswith("*") == (abs(row["difference"]) > 3)
        assert row["fit_seconds"] > 0


@needs("promoters")
def test_search_reports_the_paper_s_numbers_beside_ours(tmp_path):
    file = tmp_path / "results.json"
    options = ("--quick", "--tables", "3", "--data", "promoters", "--repeats", "2", "--json", file)
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (result,) = json.loads(file.read_text())["data_sets"]
    assert (result["table"], result["data"]) == (3, "promoters")
    assert (result["n_samples"], result["n_features"]) == (106, 228)
    assert result["run"] == {"eta": 0.1, "max_iter": script.QUICK["epochs"]}
    check_rows(result, ["nothing", "tau"])
    by_pair = {(row["column"], row["readout"]): row for row in result["rows"]}
    assert by_pair["nothing", "last"]["paper"]["accuracy"] == 78.8
    assert by_pair["tau", "voted"]["paper"]["accuracy"] == 93.4
    assert by_pair["nothing", "last"]["chosen"] == [{}, {}]
    assert all(choice["tau"] in tables.GRIDS["tau"][1:] for choice in by_pair["tau", "last"]["chosen"])
    lines = [line for line in done.stdout.splitlines() if line.startswith(("nothing, ", "tau, "))]
    assert len(lines) == 6
    assert ["*" in line for line in lines] == [bool(row["mark"]) for row in result["rows"]]


def test_artificial_data_need_no_files(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    options = ("--quick", "--tables", "4", "--noise", "0.05", "0.25", "--repeats", "2")
    mild, strong = run(tmp_path, *options)
    for result in (mild, strong):
        check_rows(result, ["nothing", "tau"])
        assert (result["n_samples"], result["n_features"]) == (600, 50)
        order = result["ordering"]
        assert order["better"] + order["equal"] + order["worse"] == 2
    assert mild["noise"] == 0.05
    assert mild["rows"][2]["accuracy"] > strong["rows"][2]["accuracy"]
    output = capsys.readouterr().out
    assert output.count("\nvoted >= last on average: ") == 2
    assert "\nTable 4, voted >= last on average: " in output


def test_neither_threads_nor_other_blocks_matter(tmp_path):
    def accuracies(*options):
        results = run(tmp_path, *("--quick", "--tables", "4", "--columns", "tau", *options))
        return [row["accuracies"] for row in results[-1]["rows"]]

    alone = accuracies("--noise", "0.1")
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


def test_patterns_of_usps_have_its_original_values(small_images):
    X, y = script.images("usps", "train")
    assert (X.min(), X.max()) == (-1, 1) and X.shape == (200, 64) and len(y) == 200
    X, y = script.patterns("usps")
    assert X.shape == (260, 64) and len(y) == 260
    X, y = script.patterns("mnist")
    assert sparse.issparse(X) and X.shape == (260, 64) and len(y) == 260


def test_only_a_kernel_divides_pixels(small_images):
    assert script.images("mnist", "test")[0].max() == 16
    assert script.images("mnist", "test", "poly")[0].max() == pytest.approx(16 / 255)


@needs("usps")
def test_real_patterns_of_usps_go_from_minus_one_to_one():
    X, y = script.images("usps", "test")
    assert X.shape == (2007, 256) and (X.min(), X.max()) == (-1, 1)
    assert sorted(set(y)) == list(range(10))


@pytest.mark.parametrize("choose", ["hold-out", "hindsight"])
def test_optimization_reports_seconds_and_memory(tmp_path, small_images, capsys, choose):
    options = ("--tables", "7", "--kernels", "linear", "poly", "--repeats", "1", "--choose", choose)
    results = run(tmp_path, *options, "--gamma", "0.5")
    names = ["usps, linear", "mnist, linear", "usps, poly", "mnist, poly"]
    assert [result["data"] for result in results] == names
    for result in results:
        check_rows(result, ["nothing", "tau"])
        assert result["peak_megabytes"] is None or result["peak_megabytes"] > 10
        assert all(row["predict_seconds"] > 0 for row in result["rows"])
        (choice,) = result["rows"][-1]["chosen"]
        assert choice["tau"] in tables.GRIDS["tau"]
    assert all(row["accuracy"] > 70 for result in results[::2] for row in result["rows"])
    assert results[0]["run"] == {"eta": 0.1, "max_iter": 10}
    assert results[3]["run"] == {
        **{"eta": 1, "max_iter": 1, "kernel": "poly", "degree": 4, "gamma": 0.5, "coef0": 1},
    }
    output = capsys.readouterr().out
    assert "predict" in output and "Peak memory" in output
    if choose == "hindsight":  # tau = 0 is among the values
        for nothing, best in zip(results[0]["rows"][:3], results[0]["rows"][3:], strict=True):
            assert best["accuracy"] >= nothing["accuracy"]


def test_columns_that_a_table_has_not_are_left_out(tmp_path, small_images):
    options = ("--tables", "7", "--data", "mnist", "--columns", "alpha", "tau-then-lambda")
    (result,) = run(tmp_path, *options, "--repeats", "1")
    check_rows(result, ["tau-then-lambda"])
    assert list(result["rows"][0]["chosen"][0]) == ["tau", "lam"]


def test_kernels_have_the_columns_that_the_paper_prints(tmp_path, small_images):
    options = ("--tables", "7", "--data", "mnist", "--kernels", "poly", "--columns", "lambda", "nothing")
    (result,) = run(tmp_path, *options, "--repeats", "1")
    check_rows(result, ["nothing"])


@pytest.mark.parametrize(("choose", "least"), [("hold-out", 20), ("hindsight", 25)])
def test_the_test_set_chooses_only_in_hindsight(monkeypatch, choose, least):
    X, y, X_test, y_test = (
        np.arange(25.0)[:, np.newaxis],
        np.arange(25),
        np.full((9, 1), -1.0),
        np.zeros(9),
    )
    seen = []

    def outcome(parameters, readout, setting, part):
        seen.append([len(part[1]), len(part[3]), sorted(np.concatenate([part[1], part[3]]))])
        return float(setting == (0.5, 0, math.inf)), 1.0, 1.0

    monkeypatch.setattr(script, "outcome", outcome)
    options = ("--tables", "4", "--choose", choose, "--share", "0.2")
    _, arguments, _ = script.parsed(options)
    found = script.optimization((X, y), (X_test, y_test), ["tau"], {}, 0, arguments)
    assert found["tau", "voted"] == ((0.5, 0, math.inf), (1.0, 1.0, 1.0))
    assert min(size for size, _, _ in seen) == least
    choosing = [each for each in seen if each[0] < 25]
    assert len(choosing) == (21 if choose == "hold-out" else 0)
    assert all(each[1:] == [5, list(range(25))] for each in choosing)
    assert len(seen) - len(choosing) == (3 if choose == "hold-out" else 21)


def test_settings_are_the_active_values_unless_inactive_ones_are_wanted():
    assert script.settings_of((), inactive=False) == [(0, 0, math.inf)]
    assert len(script.settings_of(("tau", "alpha_bound"), inactive=False)) == 36
    assert len(script.settings_of(("tau", "alpha_bound"), inactive=True)) == 49
    active = script.settings_of(("tau",), inactive=False)
    assert [setting[0] for setting in active] == [0.125, 0.25, 0.5, 1, 2, 4]
    assert {setting[1:] for setting in active} == {(0, math.inf)}
    second = script.settings_of(("lam",), inactive=True, fixed=(0.5, 0, math.inf))
    assert {setting[0] for setting in second} == {0.5} and len(second) == 7


@pytest.fixture
def trials(monkeypatch):
    """Trials whose accuracy is 90 - |tau - 1| - lam on the first part, 80 - ... on the second."""
    calls = []

    def outcome(parameters, readout, setting, part):
        calls.append((readout, setting, part))
        return 90 - 10 * part - abs(setting[0] - 1) - setting[1], 1.0, 2.0

    monkeypatch.setattr(script, "outcome", outcome)
    found = script.Trials([0, 1], {}, n_jobs=1)
    found.calls = calls
    return found


def test_outcomes_are_means_over_the_parts_computed_once(trials):
    pair = ("last", (2.0, 0.0, math.inf))
    assert trials.outcomes([pair, pair]) == [(84.0, 1.0, 2.0)] * 2
    assert trials.outcomes([pair]) == [(84.0, 1.0, 2.0)]
    assert len(trials.calls) == 2


def test_best_is_the_first_of_the_most_accurate_settings(trials):
    assert trials.best("last", "nothing", inactive=True) == script.OFF
    assert trials.best("last", "tau", inactive=True) == (1, 0, math.inf)
    assert trials.best("last", "alpha", inactive=False) == (0, 0, 80)  # all are equal
    assert trials.best("last", "tau-x-lambda", inactive=False) == (1, 0.125, math.inf)
    assert trials.best("last", "tau-then-lambda", inactive=False) == (1, 0.125, math.inf)
    before = len(trials.calls)
    assert trials.best("last", "tau-then-lambda", inactive=True) == (1, 0, math.inf)
    assert len(trials.calls) == before  # both stages were known


def test_features_may_be_multiplied_by_a_constant():
    generator = np.random.default_rng(0)
    X = generator.integers(-3, 4, size=(64, 5)).astype(float)
    y = np.where(X[:, 0] + generator.normal(size=64) > 0, 1, -1)
    for readout, setting in itertools.product(script.READOUTS, [(0, 0, math.inf), (0.5, 0.25, 5)]):
        small, large = (
            script.outcome(
                {"eta": 0.1, "max_iter": 5}, readout, setting, (c * X[:50], y[:50], c * X[50:], y[50:])
            )
            for c in (1, 4)
        )
        assert small[0] == large[0]


def test_published_tables_are_complete():
    for published in (*tables.TABLE_3.values(), *tables.TABLE_4.values()):
        assert [len(published[readout]) for readout in script.READOUTS] == [len(tables.SEARCHED)] * 3
    for (_, kernel), published in tables.TABLE_7.items():
        length = len(tables.OPTIMIZED) if kernel == "linear" else 2
        assert [len(published[readout]) for readout in script.READOUTS] == [length] * 3
    numbers = [
        number
        for table in (tables.TABLE_3, tables.TABLE_4, tables.TABLE_7)
        for block in table.values()
        for readout in block.values()
        for number in readout
    ]
    assert len(numbers) == 10 * 18 + 5 * 18 + 2 * 15 + 2 * 6
    assert all(number is None or 50 < number < 100 for number in numbers)
    assert set(tables.TABLE_3) <= set(real_data.ENTRIES)


def rows(**accuracies):
    """Rows of the column "nothing" from each readout's accuracies; the paper's are 80."""
    found = [
        {
            ("nothing", readout): (script.OFF, (value, 1.0, 2.0))
            for readout, value in zip(accuracies, each, strict=True)
        }
        for each in zip(*accuracies.values(), strict=True)
    ]
    return tables.rows_of(found, dict.fromkeys(accuracies, (80.0,)), ("nothing",))


def test_differences_above_three_points_are_marked():
    kept, above, below = rows(last=[83.0], longest=[83.1], voted=[76.9])
    assert [row["mark"] for row in (kept, above, below)] == ["", "*", "*"]
    assert [row["deviation"] for row in (kept, above, below)] == [None] * 3
    result = script.result_of(
        3, "data", np.zeros((4, 2)), {"eta": 0.1, "max_iter": 100}, [kept, above, below]
    )
    assert tables.text(result).splitlines() == [
        "",
        "Table 3, data: 4 x 2, eta = 0.1, max_iter = 100",
        "",
        "                  accuracy            ours -",
        "column, readout      paper  ours  +-   paper     chosen",
        "-------------------------------------------------------",
        "nothing, last         80.0  83.0   -    +3.0",
        "nothing, longest      80.0  83.1   -    +3.1  *",
        "nothing, voted        80.0  76.9   -    -3.1  *",
    ]
    said = tables.summary([result])
    assert "2 of 3 accuracies are more than 3 points from the paper's, 2 of them" in said


@pytest.mark.parametrize(
    ("accuracies", "paper", "mark"),
    [
        *(([83.0, 83.0], 80.0, ""), ([83.2, 83.0], 80.0, "*"), ([76.0, 77.8], 80.0, "*")),
        *(([70.0, 82.0], 80.0, "*~"), ([70.0, 80.0], 80.0, "*~"), ([80.0, 90.0], 80.0, "*~")),
        *(([78.0, 82.0], 80.0, ""), ([10.0], None, "")),
    ],
)
def test_mark_says_whether_some_repeat_comes_as_far_as_the_paper(accuracies, paper, mark):
    assert tables.mark_of(accuracies, paper) == mark


def test_most_frequent_choice_is_shown():
    row = {"chosen": [{"tau": 1.0, "lam": 2.0}, {"tau": 0.5, "lam": 2.0}, {"tau": 0.5, "lam": 2.0}]}
    assert tables.chosen_text(row) == "0.5, 2"


def test_ordering_compares_the_means_and_counts_the_data_sets():
    found = rows(last=[80.0, 70.0, 90.0], voted=[82.0, 75.0, 89.0])
    assert tables.ordering(found) == {"holds": True, "better": 2, "equal": 0, "worse": 1}
    assert not tables.ordering(rows(last=[80.0], voted=[79.0]))["holds"]
    assert tables.ordering([]) is None
    result = {"data": "noise 0.1", "rows": rows(last=[80.0], voted=[79.0])}
    result["ordering"] = tables.ordering(result["rows"])
    assert tables.summary([result]).endswith("not at noise 0.1")


def refused(capsys, *options):
    """What the script says when it refuses with code 2."""
    with pytest.raises(SystemExit) as stop:
        script.main(options)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_what_cannot_be_run_is_refused_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    assert "MARGINS_DATA must be set" in refused(capsys)
    monkeypatch.setenv("MARGINS_DATA", str(tmp_path))
    assert "Got none of mnist, usps" in refused(capsys, "--tables", "7")
    assert "Got none to run of sonar" in refused(capsys, "--tables", "7", "--data", "sonar")
    assert "invalid choice: 'a9a'" in refused(capsys, "--data", "a9a")
    assert "--folds must be at least 2. Got 1" in refused(capsys, "--folds", "1")
    assert "--share must be in (0, 1). Got 1" in refused(capsys, "--share", "1")
    file = str(tmp_path / "nowhere" / "results.json")
    assert "can be written" in refused(capsys, "--tables", "4", "--json", file)
