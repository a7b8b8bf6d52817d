"""The benchmarks that compare two sides: both do the same work, and reports say what was measured."""

import json

import benchmark_advice
import benchmark_command_line
import benchmark_halving
import benchmark_kernels
import benchmark_leave_one_out
import benchmark_pairs
import benchmark_paths
import benchmark_permutations
import benchmark_small_fits
import benchmark_studies
import benchmark_threads
import numpy as np
import prove_kernel
import pytest
from sklearn.datasets import load_breast_cancer

import margins


@pytest.fixture
def without_data(monkeypatch):
    monkeypatch.delenv("MARGINS_DATA", raising=False)  # scikit-learn has data too


def counted(monkeypatch, script, name, attributes):
    """Replace a class of a script by one that notes attributes when it is fitted: list of tuple."""
    fits, classifier = [], getattr(script, name)

    class Counted(classifier):
        def fit(self, X, y):
            fits.append(tuple(getattr(self, attribute) for attribute in attributes))
            return super().fit(X, y)

    monkeypatch.setattr(script, name, Counted)
    return fits


@pytest.mark.parametrize("kind", [kind for kind in benchmark_advice.KINDS if kind != "real"])
def test_test_labels_have_no_noise_and_a_hyperplane_separates_the_samples(kind):
    X, y, X_test, y_test = benchmark_advice.samples_of(kind, 0)
    assert X.shape[1] == X_test.shape[1] and len(X) == len(y) and len(X_test) == len(y_test) == 2000
    assert np.mean(y_test > 0) == pytest.approx(0.1 if kind == "uneven" else 0.5, abs=0.05)
    X_test, y_test = X_test[:700] / np.abs(X_test).max(axis=0), y_test[:700]
    assert margins.MarginClassifier(C=1e6).fit(X_test, y_test).score(X_test, y_test) > 0.998


def test_every_algorithm_has_a_row_with_its_error_and_time(capsys):
    names = ("auto", "alma, p", "pfm")
    benchmark_advice.main(["--seeds", "1", "--kinds", "few", "noisy", "--algorithms", *names])
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["algorithm", "few", "noisy", "ms,", "noisy"]
    for name, row in zip(names, rows, strict=True):
        few, noisy, milliseconds = row.removeprefix(name).split()
        assert 0 < float(few.rstrip("*")) < 0.5 and 0 < float(noisy.rstrip("*")) < 0.3
        assert float(milliseconds) > 0


def test_the_least_seconds_of_both_programs_are_printed_for_each_file(monkeypatch, capsys):
    seconds, commands = iter([0.5, 0.25, 0.75, 0.125, 1.0, 0.5, 1.0, 0.5]), []
    monkeypatch.setattr(benchmark_command_line.shutil, "which", lambda name: name)
    monkeypatch.setattr(
        benchmark_command_line, "seconds_of", lambda command: commands.append(command) or next(seconds)
    )
    benchmark_command_line.main(["data/tiny.svm", "--repeats", "2"])
    train, predict = capsys.readouterr().out.splitlines()[-2:]
    assert train == "| tiny | train | 0.500 s | 0.125 s | 4.00 |"
    assert predict == "| tiny | predict | 1.000 s | 0.500 s | 2.00 |"
    ours, theirs = commands[:2]
    assert ours[0].name == "margins" and ours[1:4] == ["train", "-q", "data/tiny.svm"]
    assert theirs[:3] == ["liblinear-train", "-q", "data/tiny.svm"] and commands[2:4] == commands[:2]


def test_a_permutation_test_is_compared_with_one_cross_validation(capsys):
    options = ["--rows", "20", "--features", "30", "--permutations", "9", "--timed", "3"]
    benchmark_permutations.main(options)
    *_, one, ours, theirs, ratio = capsys.readouterr().out.splitlines()
    assert one.endswith(" 1.00") and ours.startswith("permutation_test ")
    assert theirs.startswith("permutation_test_score") and "of permutation_test_score's time" in ratio


def test_small_fits_have_a_ratio_to_both_peers_in_each_place(capsys):
    ratios = benchmark_small_fits.main(["--repeats", "1"])
    assert list(ratios)[:2] == ["100 x 27, alone", "100 x 27, in pipeline"] and len(ratios) == 4
    assert all(ratio > 0 for pair in ratios.values() for ratio in pair)
    rows = capsys.readouterr().out.splitlines()[-4:]
    assert [f"{ratios['100 x 27, alone'][0]:.2f}" in rows[0], len(rows)] == [True, 4]


@pytest.mark.parametrize("kernel, n_settings", [("linear", 36), ("rbf", 25)])
def test_the_whole_grid_and_halving_are_reported(kernel, n_settings, monkeypatch, capsys):
    script, data = benchmark_halving, load_breast_cancer()
    data.X, data.y = data.data / data.data.max(axis=0), data.target
    monkeypatch.setattr(script.real_data, "load", lambda name: data)
    monkeypatch.setitem(script.GRIDS, "rbf", {"C": [0.1, 1, 10, 100, 1000], "gamma": [0.1, 1, 2, 3, 4]})
    script.main(["--data", "tumours", "--kernel", kernel, "--folds", "2", "--rows", "500"])
    whole, halving = capsys.readouterr().out.splitlines()[-2:]
    assert f"{n_settings} x 250" in whole and "," not in whole
    assert f"{n_settings} x 28, " in halving and halving.count(",") == 2
    assert "C=" in whole and "C=" in halving


def test_every_kernel_setting_has_a_ratio_and_a_proven_gap(tmp_path, capsys):
    file = tmp_path / "rows.json"
    options = ["--quick", "--C", "1", "--threads", "2", "--json", str(file)]
    rows = benchmark_kernels.main(options)
    assert [(row["C"], row["gamma"]) for row in rows] == [(1.0, 1.0), (1.0, 5.0)]
    for row in rows:
        assert row["gap 0.001"] <= 1e-3 and row["gap 1e-05"] <= 1e-5
        assert row["SVC"] > 0 and row["0.001"] > 0 and 0 < row["support"] <= 300
        assert 0 < row["gap SVC"] < 0.1 and row["predict"] > 0 and row["speedup"] > 0
    assert json.loads(file.read_text()) == rows
    assert "1e-05: median" in capsys.readouterr().out


def test_a_peer_is_compared_at_the_tolerance_that_reaches_the_gap(monkeypatch, capsys):
    from sklearn import svm

    tolerances = counted(monkeypatch, svm, "SVC", ("tol",))
    classes = {"Same": ("sklearn.svm", "SVC"), "Missing": ("no_such_package", "SVC")}
    monkeypatch.setattr(benchmark_kernels.peers, "KERNEL_PEERS", classes)
    rows = benchmark_kernels.main(["--quick", "--C", "1", "--gamma", "1", "--eps", "1e-3", "--peers"])
    assert 0 < rows[0]["Same"] < 100 and "Missing" not in rows[0]
    assert tolerances == sorted(tolerances, reverse=True) and 1e-4 < tolerances[-1][0] < 0.3
    out = capsys.readouterr().out
    assert "Missing is left out" in out and "Same: median" in out


def test_a_peer_that_does_not_reach_the_gap_takes_infinitely_long(monkeypatch):
    script = benchmark_kernels
    X, y = script.problem_of("digits", 200, 0)
    arguments = script.command_line().parse_args(["--repeats", "1"])
    kernel = {"C": 1.0, "gamma": 0.1}
    assert script.peer_seconds(script.SVC, kernel, [X], y, arguments) < float("inf")
    assert script.peer_seconds(script.SVC, kernel, [X], y, arguments, most=0.0) == float("inf")
    monkeypatch.setattr(script, "gap_of", lambda *arguments: 0.1)
    assert script.peer_seconds(script.SVC, kernel, [X], y, arguments) == float("inf")


def test_rows_of_leave_one_out_follow_from_what_was_measured(tmp_path, without_data, capsys):
    script, file = benchmark_leave_one_out, tmp_path / "report.json"
    rows = script.main(["--rows", "60", "--C", "1", "--repeats", "1", "--json", str(file)])
    assert [(row["kernel"], row["loss"]) for row in rows] == [
        (kernel, loss) for kernel in script.KERNELS for loss in script.LOSSES
    ]
    for row in rows:
        assert row["n_samples"] == 60 and row["unproven"] == 0
        shares = [row[key] for key in ("no work", "one step", "paths", "refits")]
        assert sum(shares) == pytest.approx(1) and min(shares[:3]) > 0
        assert row["ratio"] == pytest.approx(row["seconds"] / row["seconds of n fits"])
        is_linear = (row["kernel"], row["loss"]) == ("linear", "squared_hinge")
        assert (row["seconds of n LinearSVC"] is not None) == is_linear
    assert json.loads(file.read_text())["rows"] == rows
    printed = capsys.readouterr().out
    assert printed.count("| breast_cancer |") == 4 and "Not in the folder" in printed


def test_the_peer_of_leave_one_out_converges_or_there_is_none(monkeypatch):
    script = benchmark_leave_one_out
    X, y = script.data_of(script.TUMOURS, 100)
    assert X.shape == (100, 30) and len(np.unique(y)) == 2 and np.allclose(X.max(axis=0), 1)
    assert script.peer_for(X, y, 1.0).n_iter_ < 1000
    monkeypatch.setattr(script, "MAX_ITER", 1)
    assert script.peer_for(X, y, 1.0) is None


def test_every_setting_of_pairs_has_a_line(capsys):
    ratios = benchmark_pairs.main(["--data", "iris", "--C", "1", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(ratios) == len(lines) - 1 == 3 * 2 * 2
    assert all(line.startswith("iris") for line in lines[:-1])
    assert lines[-1] == f"median ratio of 12 settings: {np.median(ratios):.2f}"


def test_both_sides_of_paths_make_the_same_selection(tmp_path, without_data, monkeypatch, capsys):
    script, file = benchmark_paths, tmp_path / "report.json"
    fits = counted(monkeypatch, script, "LinearSVC", ("C",))
    report = script.main(["--quick", "--repeats", "1", "--json", str(file)])
    (row,) = report["rows"]
    assert len(fits) == 10 * 5 + 1 and fits[-1] == (row["C of scikit-learn"],)
    assert row["unproven"] == 0 and row["largest gap"] <= 1 / (1 - script.EPS) ** 2 - 1
    assert abs(row["score"] - row["score of scikit-learn"]) <= 0.002
    assert row["ratio"] == pytest.approx(row["scikit-learn"] / row["margins"])
    written = json.loads(file.read_text())
    assert written["rows"] == report["rows"] and str(tmp_path) not in file.read_text()
    assert "windows" in capsys.readouterr().out


def test_windows_belong_to_one_series():
    X, y = benchmark_paths.make_windows(500)
    X = X.toarray()
    assert X.shape == (500, 22) and np.all(X[:, :10].sum(axis=1) == 1)
    np.testing.assert_array_equal(X[1:, 10:-1], X[:-1, 11:])
    assert np.mean(y == 1) == pytest.approx(0.1, abs=0.01)


@pytest.mark.slow
def test_both_sides_of_studies_make_the_same_fits(tmp_path, without_data, monkeypatch, capsys):
    fits = counted(monkeypatch, benchmark_studies, "Perceptron", ("max_iter", "tol", "penalty", "alpha"))
    file = tmp_path / "report.json"
    options = ("--folds", "2", "--epochs", "2", "--n-jobs", "1", "--json", str(file))
    report = benchmark_studies.main(options)
    ours, theirs = report["rows"]
    assert ours["n_fits"] == theirs["n_fits"] == 49 * 2 * 2 + 2 == len(fits)
    assert {fit[:3] for fit in fits} == {(2, None, "l2")} and len({fit[3] for fit in fits}) == 49
    assert report["lockstep"] is True and report["data"] == "load_breast_cancer"
    assert report["ratio"] == pytest.approx(theirs["seconds"] / ours["seconds"])
    assert 0.5 < ours["accuracy"] < 1 and 0.5 < theirs["accuracy"] < 1
    assert json.loads(file.read_text())["ratio"] == report["ratio"]
    assert f"ratio: {report['ratio']:.1f}" in capsys.readouterr().out


def test_results_that_depend_on_threads_are_an_error(monkeypatch):
    class Differing(margins.MarginClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = self.coef_ + np.float64(self.n_jobs)
            return self

    monkeypatch.setattr(benchmark_threads, "SHAPES", ((300, 5, 0),))
    monkeypatch.setattr(benchmark_threads.margins, "MarginClassifier", Differing)
    with pytest.raises(AssertionError, match="depends on the number of threads"):
        benchmark_threads.main(["--turns", "1"])


def test_numpy_finds_the_gap_that_a_kernel_fit_proves(without_data, capsys):
    fit = prove_kernel.main(["--data", "digits", "--rows", "600", "--cache", "50", "--check"])
    found = float(capsys.readouterr().out.split("by NumPy: gap ")[1].split(",")[0])
    assert fit.converged_ and 1e-5 < found == pytest.approx(fit.certificates_[0].gap, rel=0.01)
