"""Fixtures of the tests of studies."""

import pytest

from margins.model_selection import engine, running


@pytest.fixture(autouse=True, scope="module")
def local_files():
    """Leave files of the library and of tests out of keys: reading them takes longer than studies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "code_of", lambda cache_key: "code")
        yield


@pytest.fixture
def calls(monkeypatch):
    """The tasks that are computed, not found in a cache."""
    made, run = [], running.run
    monkeypatch.setattr(running, "run", lambda *task: made.append(task[2]) or run(*task))
    return made
