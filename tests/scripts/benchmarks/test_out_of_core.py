"""The benchmark of fits out of core, and the simulation of a cluster, on small data."""

import contextlib
import io
import json

import benchmark_out_of_core as script
import pytest
import simulate_cluster
from simulate_cluster import Costs, simulate, workers_at_balance


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


def test_a_pass_takes_as_long_as_its_parts():
    costs = Costs(partition=1.0, addition=0.0, task=0.0, solution=0.5, nbytes=0, bandwidth=1.0)
    assert simulate(costs, 1, 1).seconds == 1.5
    assert simulate(costs, 10, 2).seconds == 5.5
    assert simulate(costs, 10, 100) == (1.5, pytest.approx(10 / 150), "workers")
    slow = costs._replace(task=0.1)
    assert simulate(slow, 100, 1000).seconds == pytest.approx(100 * 0.1 + 1 + 0.5, abs=1.0)
    assert simulate(slow, 100, 1000).bound == "client" and simulate(slow, 100, 2).bound == "workers"
    assert workers_at_balance(slow) == pytest.approx(10 * 7 / 8)
    by_network = costs._replace(nbytes=10, bandwidth=10.0)
    assert simulate(by_network, 8, 8).seconds == pytest.approx(1 + 8 + 1 + 0.5)


@pytest.mark.filterwarnings("ignore")
def test_the_simulation_states_when_the_client_bounds_a_pass(capsys):
    rows = simulate_cluster.main(["--quick", "--workers", "2", "10"])
    assert len(rows) == 10 and {row["workers"] for row in rows} == {2, 10}
    assert all(row["seconds"] > 0 and 0 < row["busy"] <= 1 for row in rows)
    assert rows[0]["seconds"] < rows[4]["seconds"]
    assert "The client bounds a pass from" in capsys.readouterr().out
