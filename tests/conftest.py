"""Fixtures of tests in several folders."""

import functools
import os
import random
import signal

import hypothesis
import pytest
from sample_problems import tuning_with

from margins.estimators import margin_classifier
from margins.solvers import auto

# Their assertions say what was compared, as those of test modules do.
pytest.register_assert_rewrite(
    "certified_problems",
    "fitted_clouds",
    "noise_tolerant_replay",
    "scikit_learn_checks",
    "small_problems",
    "stream_problems",
)


def pytest_configure(config):
    """Choose the examples of the daily run, or of the long one, before any test is imported."""
    if config.option.markexpr == "not slow":
        os.environ["MARGINS_SEED"] = "0"
        profile = "daily"
    else:
        os.environ.setdefault("MARGINS_SEED", str(random.SystemRandom().randrange(10**9)))
        config.option.hypothesis_seed = int(os.environ["MARGINS_SEED"])
        profile = "long"
    import properties  # noqa: F401  # registers the profiles

    hypothesis.settings.load_profile(profile)


def pytest_report_header(config):
    if config.option.markexpr != "not slow":
        return f"repeat the long run by MARGINS_SEED={os.environ['MARGINS_SEED']}"
    return None


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
