"""A pytest plug-in that replaces scikit-learn's classes by `adapters`, and records tests.

    python -m pytest -p plugin --pyargs sklearn.svm.tests.test_svm

Written to the file PEERS_RECORD, a line of JSON for each test: its name, whether it used an adapter, how
it ended and the last line of its error. With PEERS_REPLACE=0 nothing is replaced.
"""

import json
import os

import adapters
import pytest

_state = {}


def pytest_configure(config):
    if os.environ.get("PEERS_REPLACE", "1") == "1":
        for (module, name), adapter in adapters.adapters().items():
            setattr(module, name, adapter)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    adapters.Adapter.used = False
    _state.clear()
    yield
    record = {"test": item.nodeid, "used": adapters.Adapter.used, **_state}
    with open(os.environ["PEERS_RECORD"], "a") as file:
        file.write(json.dumps(record) + "\n")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        _state["outcome"] = report.outcome
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            _state["error"] = crash.message if crash else str(report.longrepr)[-500:]
