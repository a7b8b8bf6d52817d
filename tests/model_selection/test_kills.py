"""Studies whose processes are killed at random moments end with the undisturbed numbers."""

import json
import os
import signal
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)
FEW = {"parent": 1, "worker": 1}
ALL = {  # 100 kills
    "parent": 35,
    "parent of workers": 10,
    "worker": 20,
    "dask worker": 20,
    "all dask workers": 4,
    "one of two studies": 11,
}

pytestmark = pytest.mark.skipif(
    not (hasattr(signal, "SIGKILL") and hasattr(os, "fork")), reason="no SIGKILL or no fork"
)


def found_by(kind, n_kills, folder):
    if "dask" in kind:
        pytest.importorskip("distributed")
    environment = os.environ | {
        "PYTHONPATH": HERE,
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    script = os.path.join(HERE, "killed_study.py")
    answer = subprocess.run(
        [sys.executable, script, kind, str(folder / "cache"), str(n_kills)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300 + 60 * n_kills,
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    return json.loads(answer.stdout.splitlines()[-1])


def check(kind, n_kills, folder):
    found = found_by(kind, n_kills, folder)
    assert found["same"] and all(found["same"])
    assert found["n_killed"] >= n_kills
    # Of two studies, one may store a task while the other begins it.
    assert found["n_repeated"] <= (n_kills if kind == "one of two studies" else 0)
    assert all("the workers were lost" in error for error in found["errors"])


@pytest.mark.parametrize("kind", FEW)
def test_a_few_kills(kind, tmp_path):
    check(kind, FEW[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_a_hundred_kills(kind, tmp_path):
    assert sum(ALL.values()) == 100
    check(kind, ALL[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["every worker", "every dask worker"])
def test_a_task_that_kills_its_worker_ends_in_one_error(kind, tmp_path):
    found = found_by(kind, 0, tmp_path)
    (error,) = found["errors"]
    assert "Deadly of parameter_search, fold" in error and "failed" in error
    assert found["n_stored"] >= 6  # of 12 that can be finished
