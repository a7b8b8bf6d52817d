"""The benchmark of studies: both sides make the same fits, and the report follows from them."""

import json

import benchmark_studies as script
import pytest


@pytest.mark.slow
def test_both_sides_make_the_same_fits(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)  # scikit-learn has the data too
    fits = []
    perceptron = script.Perceptron

    class Counted(perceptron):
        def fit(self, X, y):
            fits.append(self.get_params())
            return super().fit(X, y)

    monkeypatch.setattr(script, "Perceptron", Counted)
    file = tmp_path / "report.json"
    options = ("--folds", "2", "--epochs", "2", "--n-jobs", "1", "--json", str(file))
    report = script.main(options)
    ours, theirs = report["rows"]
    assert ours["n_fits"] == theirs["n_fits"] == 49 * 2 * 2 + 2 == len(fits)
    assert {(each["max_iter"], each["tol"], each["penalty"]) for each in fits} == {(2, None, "l2")}
    assert len({each["alpha"] for each in fits}) == 49
    assert report["lockstep"] is True and report["data"] == "load_breast_cancer"
    assert report["ratio"] == pytest.approx(theirs["seconds"] / ours["seconds"])
    assert ours["fits_per_second"] == pytest.approx(198 / ours["seconds"])
    assert 0.5 < ours["accuracy"] < 1 and 0.5 < theirs["accuracy"] < 1
    written = json.loads(file.read_text())
    assert written["ratio"] == report["ratio"] and str(tmp_path) not in file.read_text()
    assert f"ratio: {report['ratio']:.1f}" in capsys.readouterr().out
