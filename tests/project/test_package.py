"""The package as installed: entry points, shipped files, a light import, one version."""

import importlib
import importlib.metadata
import importlib.resources
import re
import tomllib
from pathlib import Path

from setuptools import find_packages

import margins

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = PROJECT["project"]["entry-points"][margins.registry.GROUP]
PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "margins").rglob("__init__.py")
)
HEADERS = sorted(path.relative_to(ROOT) for path in (ROOT / "margins").rglob("*.pxd"))


def test_every_file_of_an_algorithm_has_a_line_and_every_line_a_file():
    files = {
        f"margins.algorithms.{path.stem}" for path in (ROOT / "margins/algorithms").glob("[!_]*.py")
    }
    modules = {value.partition(":")[0] for name, value in LINES.items() if name != "auto"}
    assert files == modules
    assert LINES["auto"] == "margins.estimators.margin_classifier:MarginClassifier"


def test_every_line_names_the_class_that_get_returns():
    for name, value in LINES.items():
        module, _, attribute = value.partition(":")
        assert margins.get(name) is getattr(importlib.import_module(module), attribute), name


def test_installed_entry_points_match_the_checkout():
    entries = importlib.metadata.distribution("scikit-margins").entry_points
    installed = {entry.name: entry.value for entry in entries if entry.group == margins.registry.GROUP}
    assert installed == LINES, "pyproject.toml has changed since the installation: pip install again"


def test_every_package_is_installed():
    include = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    assert sorted(find_packages(str(ROOT), include=include)) == PACKAGES


def test_every_kernel_has_a_header():
    kernels = {path.with_suffix("").relative_to(ROOT) for path in (ROOT / "margins").rglob("*.pyx")}
    assert kernels <= {header.with_suffix("") for header in HEADERS}


def test_the_package_is_marked_as_typed():
    assert (importlib.resources.files("margins") / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["*"]


def test_one_version():
    assert importlib.metadata.version("scikit-margins") == margins.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", changelog, re.M)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", title) for title in titles)
    assert titles[0].startswith(f"{margins.__version__} (")
    newest = changelog.split("\n## ")[1]
    assert newest.count("\n") <= 80, "say what a user of the last version meets"
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {margins.__version__}\n" in citation
    assert f"\ndate-released: {titles[0].split('(')[1][:-1]}\n" in citation
    assert f"license: {PROJECT['project']['license']}\n" in citation


def test_a_change_is_a_file_of_three_lines_at_most():
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    for path in (ROOT / "docs" / "changes").iterdir():
        if path.name != "README.md":
            assert re.fullmatch(r"\+[\w-]+\.(\w+)\.md", path.name)[1] in kinds
            assert 1 <= len(path.read_text(encoding="utf-8").splitlines()) <= 3
