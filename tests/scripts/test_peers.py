"""A sample of scikit-learn's own tests, with its classifiers replaced: no failure is new."""

import sys
from pathlib import Path

import pytest
from sklearn.svm import SVC

FOLDER = Path(__file__).parents[2] / "scripts" / "peers"
sys.path.insert(0, str(FOLDER))
import adapters  # noqa: E402
import run_suites  # noqa: E402


@pytest.mark.parametrize("compared", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_sample_of_the_suites_has_no_new_failure(compared, monkeypatch, capsys):
    if not compared:  # with the failures of the replaced classes themselves, of which there are none
        recorded = run_suites.recorded
        monkeypatch.setattr(
            run_suites, "recorded", lambda modules, replace: recorded(modules, True) if replace else []
        )
    assert run_suites.main(["--modules", "sklearn.linear_model.tests.test_perceptron"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert int(lines[0].split()[0]) >= 6
    assert int(lines[1].split()[1]) >= 5


@pytest.mark.parametrize(
    ("test", "outcome", "error", "kind"),
    [
        ("a::b", "passed", "", "passed"),
        ("a::b", "failed", "NotThere: average=9 is not there", "not there"),
        ("a::b", "failed", "Failed: DID NOT RAISE", "internals"),
        ("a::test_tweak_params", "failed", "assert", "read"),
        ("a::b[1]", "failed", "AssertionError: 1 != 2", "new"),
    ],
)
def test_a_failure_has_a_kind(test, outcome, error, kind):
    assert run_suites.kind_of({"test": test, "outcome": outcome, "error": error}) == kind


def test_an_adapter_has_the_constructor_of_the_class_that_it_replaces():
    replaced = {name: adapter for (_, name), adapter in adapters.adapters().items()}
    svc = replaced["SVC"](C=2.0, kernel="linear")
    assert svc.get_params().keys() == SVC().get_params().keys()
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    assert svc.fit(X, y).predict([[0.2], [2.8]]).tolist() == [0, 1]
    with pytest.raises(adapters.NotThere, match="penalty='l1' is not there"):
        replaced["LinearSVC"](penalty="l1", dual=False).fit(X, y)
