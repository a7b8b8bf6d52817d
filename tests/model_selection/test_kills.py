"""Studies whose processes are killed at random moments end with the undisturbed numbers.

Every day `test_cache` kills the process of a study.
"""

import json
import os
import signal

import killed_study
import pytest
from other_process import printed_by

# 50 kills: how many of each kind, and within how many seconds each.
KILLS = {
    "parent": (17, 3.0),
    "parent of workers": (5, 8.0),
    "worker": (10, 6.0),
    "dask worker": (10, 4.0),
    "all dask workers": (2, 0.5),
    "one of two studies": (6, 1.0),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (hasattr(signal, "SIGKILL") and hasattr(os, "fork")), reason="no SIGKILL or no fork"
    ),
]


def found_by(kind, n_kills, longest, folder):
    if "dask" in kind:
        pytest.importorskip("distributed")
    arguments = killed_study.__file__, kind, folder / "cache", n_kills, longest
    printed = printed_by(*arguments, timeout=300 + 60 * n_kills, PYTHONWARNINGS="ignore")
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("kind", KILLS)
def test_fifty_kills(kind, tmp_path):
    assert sum(n_kills for n_kills, _ in KILLS.values()) == 50
    n_kills, longest = KILLS[kind]
    found = found_by(kind, n_kills, longest, tmp_path)
    assert found["same"] and all(found["same"])
    assert found["n_killed"] >= n_kills
    # Of two studies, one may store a task while the other begins it.
    assert found["n_repeated"] <= (n_kills if kind == "one of two studies" else 0)
    assert all("the workers were lost" in error for error in found["errors"])


@pytest.mark.parametrize("kind", ["every worker", "every dask worker"])
def test_a_task_that_kills_its_worker_ends_in_one_error(kind, tmp_path):
    found = found_by(kind, 0, 0.0, tmp_path)
    (error,) = found["errors"]
    assert "Deadly of parameter_search, fold" in error and "failed" in error
    assert found["n_stored"] >= 6  # of 12 that can be finished
