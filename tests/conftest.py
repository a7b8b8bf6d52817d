"""Fixtures of tests in several folders."""

import functools
import signal

import pytest
from sample_problems import tuning_with

from margins.estimators import margin_classifier
from margins.solvers import auto

# Their assertions say what was compared, as those of test modules do.
pytest.register_assert_rewrite(
    "certified_problems", "fitted_clouds", "noise_tolerant_replay", "small_problems", "stream_problems"
)


@pytest.fixture
def ctrl_c():
    """SIGINT interrupts, also in a process that was started in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def tuned(monkeypatch):
    """Plan fits of `MarginClassifier` with other constants: ``tuned(newton={"max_steps": 1})``."""

    def tune(**sections):
        plan = functools.partial(auto.plan, tuning=tuning_with(**sections))
        monkeypatch.setattr(margin_classifier, "plan", plan)

    return tune
