"""Every script starts by its path alone, in any folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "scripts"
COMMANDS = [
    path
    for path in sorted(FOLDER.rglob("*.py"))
    if "__main__" in path.read_text(encoding="utf-8")
    and path.stem not in ("check_wheel", "measuring", "stubs")
]


@pytest.mark.slow
@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_a_script_finds_the_modules_it_imports(path, tmp_path):
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(path), "--help"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")
