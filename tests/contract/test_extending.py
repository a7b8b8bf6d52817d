"""docs/extending.md: its package is the one in tests/plugins, its tables are those of the code."""

import ctypes
import dataclasses
import doctest
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sample_problems import data_of, orders_of, run
from scipy import LowLevelCallable

import margins
import margins._update
from margins.losses import HardMargin
from margins.rules import Native, Python, RuleError, Rules
from margins.rules.functions import NAMES
from margins.solvers.base import PhaseRecord
from margins.solvers.base import Problem as SolverProblem
from margins.solvers.driver import Epoch, Run
from margins.solvers.specification import Specification

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


def test_the_page_shows_the_package_of_the_tests():
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


def test_the_table_lists_the_names_of_the_adapters():
    named = {kind: [] for kind in ("condition", "update", "shrink")}
    for name, *marks, _ in rows("Python rules")[:-1]:
        for kind, mark in zip(named, marks, strict=True):
            assert mark in ("yes", "")
            if mark:
                named[kind].append(name.strip("`"))
    assert {kind: sorted(names) for kind, names in named.items()} == {
        kind: sorted(names) for kind, names in NAMES.items()
    }


def c_signatures():
    """(kind, names of the doubles) of the table: the last row continues the one before it."""
    table = []
    for kind, cell in rows("C functions"):
        names = re.findall(r"double (\w+)", cell.partition("(")[2] or cell)
        if cell.startswith("the same"):
            names = table[-1][1] + re.findall(r"double (\w+)", cell)
        table.append((kind, names))
    return table


@pytest.mark.parametrize(("kind", "names"), c_signatures())
def test_c_functions_get_the_numbers_in_the_order_of_the_table(kind, names):
    # What a C function gets by position, a Python function gets by these names.
    usual = {"condition": lambda: 7.0, "update": lambda: 1.0, "shrink": lambda: 0.75}
    by_position, by_name = [], []

    def at_a_position(*numbers):
        by_position.append(numbers)
        return usual[kind]()

    scope = {"seen": by_name, "value": usual[kind]()}
    source = f"lambda {', '.join(names)}: seen.append(({', '.join(names)},)) or value"
    function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * len(names))(at_a_position)
    X = np.random.default_rng(0).integers(-4, 5, size=(20, 3)).astype(float)
    data = data_of(X, np.where(X @ [1, -2, 1] > 0, 1, -1), 1.0, 0.0, 3.0)
    for rule in (Native(LowLevelCallable(function)), Python(eval(source, scope), kind)):
        run(data, Rules(*{**usual, kind: rule}.values()), orders_of(20, 5, 1))
    assert len(set(by_name)) > 5
    assert by_position == by_name


def declarations(kind):
    """The C methods of a class of rules in its header, without names of parameters: set of str."""
    header = (ROOT / "margins/rules/_base.pxd").read_text(encoding="utf-8")
    body = header.partition(f"\ncdef class {kind}:\n")[2].partition("\n\n\n")[0]
    found = re.findall(r"^    cdef (\w+ (\w+)\((.*?)\).*)$", body, re.MULTILINE)
    internal = ("check", "fused_epoch")
    methods = set()
    for text, name, parameters in found:
        types = [re.sub(r"(?<=[ *])\w+$", "", one).strip() for one in parameters.split(", ")[1:]]
        types = [one.replace(" *", "*") for one in types]
        if name not in internal:
            methods.add(text.replace(parameters, ", ".join(["self", *types])))
    return methods


def test_the_table_of_cython_classes_matches_their_header():
    table, kind = {}, None
    for name, signature, _ in rows("Cython classes"):
        kind = name.strip("`") or kind
        table.setdefault(kind, set()).add(signature.strip("`"))
    assert len(table) == 3 and sum(map(len, table.values())) == 9
    assert table == {kind: declarations(kind) for kind in table}


def test_the_page_states_the_installed_number_of_the_interface():
    assert f"interface, {margins._update.abi} in this version" in TEXT


def test_the_tables_list_the_public_attributes_of_the_run():
    run = Run(SolverProblem(data_of(np.eye(2), np.array([1.0, -1.0])), HardMargin()), 0, Specification())
    named = {name for cell, _ in rows("The run") for name in re.findall(r"`(\w+)", cell)}
    of_the_driver = {
        "train",
        "limit_time",
        "report_of_part",
        "begin_phase",
        "end_phase",
        "begin_epoch",
        "add",
        "end_epoch",
        "ends_phase",
        "conclude",
        "outcome",
    }
    assert named == {name for name in dir(run) if not name.startswith("_")} - of_the_driver


def cells(name):
    """What the table of the run's attributes says of one of them."""
    (cell,) = [cell for names, cell in rows("The run") if f"`{name}`" in names.split(", ")]
    return set(re.findall(r"`(\w+)`", cell))


def test_the_tables_list_parts_of_attributes_of_the_run():
    assert cells("weights") <= set(dir(margins._update.WeightVector)) and len(cells("weights")) == 6
    assert cells("history") <= set(Epoch._fields) and len(cells("history")) == 5
    assert cells("phases") == {field.name for field in dataclasses.fields(PhaseRecord)}
    assert cells("problem") <= set(dir(SolverProblem)) and len(cells("problem")) == 3


def test_methods_of_the_run_have_the_parameters_of_the_table():
    methods = [cell.strip("`") for cell, _ in rows("The run") if cell.endswith(")`")]
    assert len(methods) == 12
    for method in methods:
        name, _, parameters = method.rstrip(")").partition("(")
        expected = [parameter for parameter in parameters.split(", ") if parameter]
        signature = inspect.signature(getattr(Run, name))
        assert list(signature.parameters)[1:] == expected, method


def test_errors_of_rules_have_the_attributes_that_are_listed():
    sentence = re.search(r"with the\s+attributes ([^:]*):", TEXT)[1]
    names = re.findall(r"`(\w+)`", sentence)
    assert sorted(names) == sorted(vars(RuleError("Mine()", "return finite factors", np.nan, 3)))


def test_an_attribute_without_effect_is_an_error():
    with pytest.raises(TypeError, match="Old must set keep_dual in its `specification`. Got the class"):
        type("Old", (margins.get("pam"),), {"_keeps_dual": True})
