"""The benchmark of fits out of core, on small data."""

import contextlib
import io
import json

import benchmark_out_of_core as script
import pytest


@pytest.fixture
def children_within(monkeypatch):
    """Processes that fit a memory map, each to know its own memory, run in this one."""

    def run(command, text):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            script.main(command[2:])
        return output.getvalue()

    monkeypatch.setattr(script.subprocess, "check_output", run)


def test_every_fit_agrees_with_the_one_in_memory(tmp_path, capsys, children_within):
    file = tmp_path / "rows.json"
    tasks = ["map", "threads", "partitions"]
    results = script.main(["--quick", "--tasks", *tasks, "--folder", str(tmp_path), "--json", str(file)])
    assert list(results) == tasks and capsys.readouterr().out.count("\n") == 6
    for rows in results.values():
        assert [row["loss"] for row in rows] == ["squared_hinge", "hinge"]
        assert all(row["agrees"] for row in rows)
    for row in results["map"]:
        assert row["rows"] == 60_000 and row["converged"] and row["passes"] <= 20
        assert row["read megabytes"] == pytest.approx(row["passes"] * row["megabytes"])
        assert row["primal"] == pytest.approx(row["direct primal"], rel=2 * script.EPS)
    assert json.loads(file.read_text()) == results
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
def test_fits_by_rules_agree_with_newton_steps(tmp_path, children_within):
    rows = script.main(["--quick", "--tasks", "rules", "--folder", str(tmp_path)])["rules"]
    assert [(row["name"], row["loss"], row["eps"]) for row in rows] == list(script.RULES)
    for row in rows:
        assert row["agrees"] and row["converged"]
        # The first reading; then each epoch's full pass, and the certificates that may prove something.
        assert 1 + row["epochs"] <= row["passes"] <= 3 + 2 * row["epochs"]
        assert row["accesses"] >= row["epochs"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_clusters_of_one_and_two_processes_are_compared():
    for row in script.main(["--quick", "--tasks", "workers"])["workers"]:
        assert row["converged"] and row["speed-up in seconds"] > 0 and set(row["seconds"]) == {1, 2}
