"""Fixtures of tests in several folders."""

import dataclasses
import functools
import signal

import pytest

from margins.estimators import margin_classifier
from margins.solvers import auto
from margins.tuning import TUNING


@pytest.fixture
def ctrl_c():
    """SIGINT interrupts, also in a process that was started in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def tuning_with(**sections):
    """TUNING with other values: ``tuning_with(newton={"max_steps": 1})``."""
    changed = {
        name: dataclasses.replace(getattr(TUNING, name), **values) for name, values in sections.items()
    }
    return dataclasses.replace(TUNING, **changed)


@pytest.fixture
def tuned(monkeypatch):
    """Fits of `MarginClassifier` are planned with other constants: ``tuned(newton={"max_steps": 1})``."""

    def tune(**sections):
        plan = functools.partial(auto.plan, tuning=tuning_with(**sections))
        monkeypatch.setattr(margin_classifier, "plan", plan)

    return tune
