"""Fixtures of tests in several folders."""

import functools
import gc
import os
import random
import shlex
import signal
import sys
import warnings

import hypothesis
import numpy as np
import pytest
from sample_problems import tuning_with

from margins.estimators import algorithm
from margins.solvers import auto

gc.disable()  # until all modules are imported; they are never collected
collect_ignore = ["helpers"]  # no tests, nor examples: they would be imported a second time for these

# Their assertions say what was compared, as those of test modules do.
pytest.register_assert_rewrite(
    "certified_problems",
    "constraints",
    "noise_tolerant_replay",
    "scikit_learn_checks",
    "problems",
    "stream_problems",
)


def is_long_run(config):
    return config.option.markexpr != "not slow"


def pytest_configure(config):
    """Choose the examples of the daily run, or of the long one, before any test is imported."""
    if is_long_run(config):
        os.environ.setdefault("MARGINS_SEED", str(random.SystemRandom().randrange(10**9)))
        config.option.hypothesis_seed = int(os.environ["MARGINS_SEED"])
    else:
        os.environ["MARGINS_SEED"] = "0"
    import properties  # noqa: F401  # registers the profiles; what it holds depends on the seed

    hypothesis.settings.load_profile("long" if is_long_run(config) else "daily")
    # For the processes of the run, which are as many as there are processors.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A run in the background may ignore Ctrl-C, which tests send to themselves.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Leave what was imported and collected out of all later searches for garbage."""
    gc.freeze()
    gc.enable()


def repeating(config):
    """The command that runs tests with the seed of this run, alone: str."""
    if not is_long_run(config):
        return "python -m pytest --numprocesses=0"
    seed = os.environ["MARGINS_SEED"]
    return f"MARGINS_SEED={seed} python -m pytest --numprocesses=0 -m 'slow or not slow'"


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call():
    """Turn deprecation warnings of this package into errors, even in a test that ignores them."""
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        warnings.filterwarnings("error", category=category, module=r"margins\.")
    return (yield)


def pytest_report_header(config):
    return f"the long run, repeated by: {repeating(config)}" if is_long_run(config) else None


def pytest_terminal_summary(terminalreporter, config):
    reports = [report for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
    if reports:
        terminalreporter.section("to repeat a failure alone")
        for nodeid in dict.fromkeys(report.nodeid for report in reports):
            terminalreporter.line(f"{repeating(config)} {shlex.quote(nodeid)}")


@pytest.fixture(autouse=True)
def numpy_seed():
    """Seed what estimators draw where ``random_state`` is None: a test fails always, or never."""
    np.random.seed(int(os.environ["MARGINS_SEED"]))  # noqa: NPY002  # the one that None stands for


@pytest.fixture
def tuned(monkeypatch):
    """Plan fits of `MarginClassifier` with other constants: ``tuned(newton={"max_steps": 1})``."""

    def tune(**sections):
        plan = functools.partial(auto.plan, tuning=tuning_with(**sections))
        monkeypatch.setattr(algorithm, "plan", plan)

    return tune


@pytest.fixture
def no_collection():
    """No garbage collection: in hypothesis' callback of it a KeyboardInterrupt would be lost."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures of a test: matplotlib warns when many are open in a process."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
