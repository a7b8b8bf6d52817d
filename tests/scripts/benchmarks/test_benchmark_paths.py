"""The benchmark of paths: both sides fit the same, and the report follows from them."""

import json

import benchmark_paths as script
import numpy as np
import pytest


def test_both_sides_make_the_same_selection(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    fits = []
    classifier = script.LinearSVC

    class Counted(classifier):
        def fit(self, X, y):
            fits.append((self.C, len(y)))
            return super().fit(X, y)

    monkeypatch.setattr(script, "LinearSVC", Counted)
    file = tmp_path / "report.json"
    report = script.main(["--quick", "--repeats", "1", "--json", str(file)])
    (row,) = report["rows"]
    assert len(fits) == 10 * 5 + 1 and fits[-1] == (row["C of scikit-learn"], 1000)
    assert row["unproven"] == 0 and row["largest gap"] <= 1 / (1 - script.EPS) ** 2 - 1
    assert abs(row["score"] - row["score of scikit-learn"]) <= 0.002
    assert row["ratio"] == pytest.approx(row["scikit-learn"] / row["margins"])
    written = json.loads(file.read_text())
    assert written["rows"] == report["rows"] and str(tmp_path) not in file.read_text()
    assert "windows" in capsys.readouterr().out


def test_windows_are_those_of_one_series():
    X, y = script.make_windows(500)
    X = X.toarray()
    assert X.shape == (500, 22) and np.all(X[:, :10].sum(axis=1) == 1)
    np.testing.assert_array_equal(X[1:, 10:-1], X[:-1, 11:])
    assert np.mean(y == 1) == pytest.approx(0.1, abs=0.01)


def test_unknown_names_are_errors(capsys):
    with pytest.raises(SystemExit):
        script.main(["nothing"])
    assert "names must be of a9a, windows" in capsys.readouterr().err
