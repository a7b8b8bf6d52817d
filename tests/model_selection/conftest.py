"""Fixtures of the tests of studies."""

import sys
from pathlib import Path

import pytest

from margins.model_selection import running

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True, scope="module")
def no_other_tests(request):
    """Hide other modules of tests: keys of studies hash all local modules that are loaded, which takes
    longer than the studies here."""
    hidden = {
        name: module
        for name, module in list(sys.modules.items())
        if module is not request.module
        and Path(getattr(module, "__file__", None) or "").name.startswith("test_")
        and TESTS in Path(module.__file__).parents
    }
    for name in hidden:
        del sys.modules[name]
    yield
    sys.modules.update(hidden)


@pytest.fixture
def calls(monkeypatch):
    """The tasks that are computed, not found in a cache."""
    made, run = [], running.run
    monkeypatch.setattr(running, "run", lambda *task: made.append(task[2]) or run(*task))
    return made
