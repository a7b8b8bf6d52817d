"""docs/extending.md keeps its word: its package is the one in tests/plugins, its tables hold."""

import doctest
import re
import sys
from pathlib import Path

import numpy as np
from sample_problems import data_of

import margins._update
from margins.losses import HardMargin
from margins.rules.functions import NAMES
from margins.solvers.driver import Run, RunOptions

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "tests/plugins/python_rules"


def blocks(language):
    """The fenced code blocks of a language: list of str."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def rows(title):
    """The rows of the tables of a section, after the first header: lists of cells."""
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and "|---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_package_is_the_one_that_is_installed_by_the_tests():
    source, toml = blocks("python")[0], blocks("toml")[0]
    assert source == (PACKAGE / "relaxed.py").read_text(encoding="utf-8")
    assert toml == (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")


def test_examples_print_what_they_show(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.setitem(sys.modules, "relaxed", None)
    del sys.modules["relaxed"]
    text = "\n".join(block for block in blocks("python") if block.startswith(">>>"))
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(text, {}, "extending.md", "extending.md", 0)
    results = doctest.DocTestRunner(optionflags=flags).run(test)
    assert results.attempted > 12 and results.failed == 0


def test_the_table_of_names_is_that_of_the_adapters():
    named = {kind: [] for kind in ("condition", "update", "shrink")}
    for name, *marks, _ in rows("Python rules")[:-1]:
        for kind, mark in zip(named, marks, strict=True):
            assert mark in ("yes", "")
            if mark:
                named[kind].append(name.strip("`"))
    assert {kind: sorted(names) for kind, names in named.items()} == {
        kind: sorted(names) for kind, names in NAMES.items()
    }


def test_the_number_of_the_interface_is_the_one_installed():
    assert f"interface, {margins._update.abi} in this version" in TEXT


def test_the_tables_of_the_run_name_what_algorithms_may_use():
    run = Run(data_of(np.eye(2), np.array([1.0, -1.0])), HardMargin(), 0, RunOptions())
    named = {name for cell, _ in rows("The run") for name in re.findall(r"`(\w+)", cell)}
    of_the_driver = {
        "train",
        "begin_phase",
        "end_phase",
        "begin_epoch",
        "add",
        "end_epoch",
        "ends_phase",
        "conclude",
    }
    assert named == {name for name in dir(run) if not name.startswith("_")} - of_the_driver
