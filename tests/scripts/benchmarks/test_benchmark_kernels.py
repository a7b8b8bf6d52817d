"""The benchmark of kernels: both sides are fitted, and gaps are proven."""

import json

import benchmark_kernels as script


def test_every_setting_has_a_ratio_and_a_proven_gap(tmp_path, capsys):
    file = tmp_path / "rows.json"
    rows = script.main(["--quick", "--C", "1", "--threads", "2", "--json", str(file)])
    assert [(row["C"], row["gamma"]) for row in rows] == [(1.0, 1.0), (1.0, 5.0)]
    for row in rows:
        assert row["gap 0.001"] <= 1e-3 and row["gap 1e-05"] <= 1e-5
        assert row["SVC"] > 0 and row["0.001"] > 0 and 0 < row["support"] <= 300
        assert 0 < row["gap SVC"] < 0.1 and row["predict"] > 0 and row["speedup"] > 0
    assert json.loads(file.read_text()) == rows
    assert "1e-05: median" in capsys.readouterr().out
