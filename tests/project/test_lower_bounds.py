"""The oldest dependencies that pyproject.toml allows: a selection of the tests passes with them."""

import os
import shutil
import subprocess
import tomllib

import pytest
from plugin_environment import ROOT, Environment, write_checkout

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = [requirement.replace(">=", "==") for requirement in PROJECT["dependencies"]]
# To build, to test, and for the command line: of any version that goes with the oldest.
OTHERS = ["setuptools", "Cython", "pytest", "pytest-xdist", "hypothesis", "clarabel"]
OTHERS += ["pandas", "Jinja2", "tabulate", "skops", "rich"]
SELECTION = [
    *("tests/test_update.py", "tests/test_sparse.py", "tests/data/test_chunks.py", "tests/rules"),
    *("tests/kernels", "tests/solvers", "tests/estimators/test_estimators.py"),
    *("tests/estimators/test_path.py", "tests/estimators/test_scikit_learn.py"),
    *("tests/model_selection/test_study.py", "tests/cli/test_exit_codes.py"),
]


@pytest.mark.slow
def test_a_selection_of_the_tests_passes_with_the_oldest_dependencies(tmp_path):
    assert OLDEST and all(requirement.count(".") == 2 for requirement in OLDEST)
    environment = Environment(tmp_path, shares_packages=False)
    installed = environment.try_pip("install", "--prefer-binary", *OLDEST, *OTHERS)
    if installed.returncode != 0:
        pytest.skip(f"The oldest dependencies cannot be had: {installed.stderr.splitlines()[-1]}")
    write_checkout(tmp_path / "checkout")
    environment.pip("install", tmp_path / "checkout")
    # Of the tests alone, so that the installed package is the one that is imported.
    tests = tmp_path / "tests_of_the_checkout"
    for name in ("tests", "scripts", "docs"):
        shutil.copytree(ROOT / name, tests / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tests)
    done = subprocess.run(
        [
            environment.python,
            "-m",
            "pytest",
            "-q",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            *SELECTION,
        ],
        cwd=tests,
        env=environment.variables
        | {"OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    versions = environment.ask(
        "import importlib.metadata as m\n"
        f"answer = {{name: m.version(name) for name in {[one.partition('==')[0] for one in OLDEST]}}}"
    )
    assert [f"{name}=={version}" for name, version in versions.items()] == OLDEST
