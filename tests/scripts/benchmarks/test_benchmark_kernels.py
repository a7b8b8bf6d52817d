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


def test_a_peer_is_compared_at_the_tolerance_that_reaches_the_gap(monkeypatch, capsys):
    tolerances, original = [], script.peer_seconds

    def watched(kind, *arguments, **options):
        class Noted(kind):
            def fit(self, X, y):
                tolerances.append(self.tol)
                return super().fit(X, y)

        return original(Noted, *arguments, **options)

    found = {"Same": ("sklearn.svm", "SVC"), "Missing": ("no_such_package", "SVC")}
    monkeypatch.setattr(script.peers, "KERNEL_PEERS", found)
    monkeypatch.setattr(script, "peer_seconds", watched)
    rows = script.main(["--quick", "--C", "1", "--gamma", "1", "--eps", "1e-3", "--peers"])
    assert 0 < rows[0]["Same"] < 100 and "Missing" not in rows[0]
    assert tolerances == sorted(tolerances, reverse=True) and 1e-4 < tolerances[-1] < 0.3
    out = capsys.readouterr().out
    assert "Missing is left out" in out and "Same: median" in out


def test_a_peer_that_does_not_get_there_takes_for_ever(monkeypatch):
    X, y = script.problem_of("digits", 200, 0)
    arguments = script.command_line().parse_args(["--repeats", "1"])
    kernel = {"C": 1.0, "gamma": 0.1}
    assert script.peer_seconds(script.SVC, kernel, [X], y, arguments) < float("inf")
    assert script.peer_seconds(script.SVC, kernel, [X], y, arguments, most=0.0) == float("inf")
    monkeypatch.setattr(script, "gap_of", lambda *arguments: 0.1)
    assert script.peer_seconds(script.SVC, kernel, [X], y, arguments) == float("inf")
