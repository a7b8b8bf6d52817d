"""Benchmarks run in two environments: with one BLAS thread, and as users have it."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys

sys.path.insert(0, {scripts!r})
import environments


def main():
    print(os.environ.get("OPENBLAS_NUM_THREADS"), sys.argv[1:])
    sys.exit(int(sys.argv[2]) if sys.argv[2:] else 0)


if __name__ == "__main__":
    environments.in_both_environments(main)
"""


@pytest.mark.parametrize(
    ("arguments", "status", "lines"),
    [
        (
            ["a"],
            0,
            ["Threads of BLAS: one", "1 ['a']", "Threads of BLAS: as many as come", "None ['a']"],
        ),
        (["a", "3"], 3, ["Threads of BLAS: one", "1 ['a', '3']"]),  # a failure ends both
        (["--help"], 0, ["7 ['--help']"]),
    ],
)
def test_a_benchmark_runs_with_one_blas_thread_and_as_users_have_it(
    tmp_path, monkeypatch, arguments, status, lines
):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(scripts=str(Path(__file__).resolve().parents[2] / "scripts")))
    done = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()) == (status, lines), done.stderr
