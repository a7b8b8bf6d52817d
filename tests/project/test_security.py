"""SECURITY.md: every statement names tests that exist, and cache files hold data only."""

import ast
import functools
import json
import re
from pathlib import Path

import pytest

import margins.model_selection  # noqa: F401
from margins.model_selection.records import RECORDS, from_text

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


@functools.cache
def functions_of(path):
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def test_every_statement_names_tests_that_exist():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and "---" not in line]
    statements = [row for row in rows if row != "| statement | tested by |"]
    assert len(statements) > 10
    for statement in statements:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", statement)
        assert named, statement
        for path, name in named:
            assert name in functions_of(ROOT / path), (path, name)


@pytest.mark.parametrize(
    "content",
    [
        {"!Popen": {"args": ["true"]}},
        {"!os.system": "true"},
        {"!__import__": {"name": "os"}},
        {"!Estimator": {}},
        {"!name": {"!eval": {}}},
    ],
)
def test_a_record_makes_no_other_objects(content):
    try:
        found = from_text(json.dumps(content))
    except (KeyError, TypeError):
        return
    assert type(found).__module__.startswith("margins.model_selection")


def test_records_are_of_this_package():
    assert RECORDS
    assert all(kind.__module__.startswith("margins.model_selection") for kind in RECORDS.values())
