"""Files about the project agree: versions of Python, the version, what an sdist holds."""

import itertools
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_tests_and_wheels_are_for_the_versions_of_the_metadata():
    assert PROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"
    (tested,) = re.findall(r"python: \[(.*)\]", text_of(".github/workflows/tests.yml"))
    assert re.findall(r"3\.\d+", tested) == PYTHONS
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    tested_ones = [f"cp{version.replace('.', '')}-*" for version in PYTHONS]
    assert built == [*tested_ones, "cp314-*"]  # a wheel of which check_wheel.py is the only test so far


def test_tests_run_on_three_systems():
    (systems,) = re.findall(r"os: \[(.*)\]", text_of(".github/workflows/tests.yml"))
    assert [name.split("-")[0].strip() for name in systems.split(",")] == ["ubuntu", "macos", "windows"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_install_extras_that_exist(path):
    text = path.read_text(encoding="utf-8")
    extras = re.findall(r"\.\[(\w+)\]", text)
    assert extras and set(extras) <= set(PROJECT["project"]["optional-dependencies"])


def texts():
    """The files of the checkout that may name a script or a test: dict of str, by path."""
    folders = ("margins", "tests", "scripts", "docs", ".github")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    suffixes = {".md", ".py", ".pyx", ".pxd", ".toml", ".yml", ".rst"}
    named = [path for path in [*files, *ROOT.glob("*")] if path.suffix in suffixes]
    return {path: path.read_text(encoding="utf-8") for path in [*named, ROOT / ".ci/run"]}


def test_scripts_and_tests_that_are_named_exist():
    named = {
        (str(path.relative_to(ROOT)), name)
        for path, text in texts().items()
        for name in re.findall(r"\b(?:scripts|tests)/(?:\w+/)*\w+\.py\b", text)
    }
    assert len(named) > 30
    assert sorted(each for each in named if not (ROOT / each[1]).is_file()) == []


def test_issue_templates_request_versions_where_they_matter():
    for name in ("error", "performance"):
        assert "margins.show_versions()" in text_of(f".github/ISSUE_TEMPLATE/{name}.yml")


def test_an_sdist_holds_every_file_of_the_checkout(tmp_path):
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout")
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    checkout = tmp_path / "checkout"
    for name in listed:
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    command = [sys.executable, "setup.py", "-q", "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    assert [name for name in listed if (ROOT / name).is_file() and name not in held] == []
    compiled = [name for name in held if name.endswith((".so", ".pyd", ".c", ".pyc"))]
    assert compiled == [], list(itertools.islice(compiled, 5))
