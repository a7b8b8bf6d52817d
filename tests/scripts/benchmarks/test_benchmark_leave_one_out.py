"""The benchmark of leave-one-out: rows follow from what was measured."""

import json

import benchmark_leave_one_out as script
import numpy as np
import pytest


def test_rows_say_what_was_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    file = tmp_path / "report.json"
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


def test_features_are_scaled_and_rows_drawn():
    X, y = script.data_of(script.TUMOURS, 100)
    assert X.shape == (100, 30) and len(np.unique(y)) == 2 and np.allclose(X.max(axis=0), 1)


def test_the_peer_converges_or_there_is_none(monkeypatch):
    X, y = script.data_of(script.TUMOURS, 100)
    assert script.peer_for(X, y, 1.0).n_iter_ < 1000
    monkeypatch.setattr(script, "MAX_ITER", 1)
    assert script.peer_for(X, y, 1.0) is None


def test_unknown_names_are_errors(capsys):
    with pytest.raises(SystemExit):
        script.main(["nothing"])
    assert "names must be of breast_cancer, australian" in capsys.readouterr().err
