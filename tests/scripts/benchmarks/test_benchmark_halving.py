"""The benchmark of halving: both searches are of one grid, and the table says what they did."""

import benchmark_halving as script
import pytest
from sklearn.datasets import load_breast_cancer


@pytest.mark.parametrize("kernel, n_settings", [("linear", 36), ("rbf", 25)])
def test_both_searches_are_reported(kernel, n_settings, monkeypatch, capsys):
    data = load_breast_cancer()
    data.X = data.data / data.data.max(axis=0)
    data.y = data.target
    monkeypatch.setattr(script.real_data, "load", lambda name: data)
    monkeypatch.setitem(script.GRIDS, "rbf", {"C": [0.1, 1, 10, 100, 1000], "gamma": [0.1, 1, 2, 3, 4]})
    script.main(["--data", "tumours", "--kernel", kernel, "--folds", "2", "--rows", "500"])
    whole, halving = capsys.readouterr().out.splitlines()[-2:]
    assert f"{n_settings} x 250" in whole and "," not in whole
    assert f"{n_settings} x 28, " in halving and halving.count(",") == 2
    assert "C=" in whole and "C=" in halving
