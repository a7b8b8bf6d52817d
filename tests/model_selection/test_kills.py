"""Studies whose processes are killed at random moments end with the undisturbed numbers."""

import json
import os
import signal
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)
SAMPLE = {"parent": 2, "parent of workers": 1, "worker": 2, "dask worker": 2}
ALL = {"parent": 45, "parent of workers": 10, "worker": 20, "dask worker": 25}  # 100 kills

pytestmark = pytest.mark.skipif(
    not (hasattr(signal, "SIGKILL") and hasattr(os, "fork")), reason="no SIGKILL or no fork"
)


def check(kind, n_kills, folder):
    if kind == "dask worker":
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
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    found = json.loads(answer.stdout.splitlines()[-1])
    assert found["same"] and all(found["same"])
    assert found["n_killed"] >= n_kills
    assert found["n_repeated"] == 0
    lost = ("the workers were lost", "has no worker")  # ours, and joblib's of Dask
    assert all(any(text in error for text in lost) for error in found["errors"])


@pytest.mark.parametrize("kind", SAMPLE)
def test_a_few_kills(kind, tmp_path):
    check(kind, SAMPLE[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_a_hundred_kills(kind, tmp_path):
    check(kind, ALL[kind], tmp_path)
