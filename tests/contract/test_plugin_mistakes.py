"""Mistakes of authors of algorithms: the error says what is wrong and what to write."""

from typing import ClassVar

import numpy as np
import pytest

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.parameters import NON_NEGATIVE, parameter
from margins.rules import Additive, Mistake, NoShrink, Rules
from margins.solvers.base import Phase

X, Y = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.0]]), [1, 1, 0, 0]
RULES = Rules(Mistake(), Additive(), NoShrink())


def without_yield(self, run):
    Phase(RULES)


def returned(self, run):
    return Phase(RULES)


def rules_alone(self, run):
    yield RULES


def nothing_yielded(self, run):
    yield


def no_phase(self, run):
    yield from ()


@pytest.mark.parametrize("base", [BaseMarginClassifier, MaximumMarginClassifier])
@pytest.mark.parametrize(
    ("phases", "got"),
    [
        (without_yield, "None"),
        (returned, "a phase that is returned"),
        (rules_alone, r"Rules\(.*\)"),
        (nothing_yielded, "None"),
        (no_phase, "no phase"),
    ],
)
def test_phases_must_be_yielded(base, phases, got):
    algorithm = type("Mistaken", (base,), {"phases": phases})
    match = rf"phases of Mistaken.* must yield .*: `yield Phase\(...\)`. Got {got}\."
    with pytest.raises(TypeError, match=match):
        algorithm().fit(X, Y)


def test_phases_may_be_a_list():
    algorithm = type("Listed", (BaseMarginClassifier,), {"phases": lambda self, run: [Phase(RULES)]})
    assert algorithm().fit(X, Y).converged_


def test_a_phase_needs_rules():
    algorithm = type("Lone", (BaseMarginClassifier,), {"phases": lambda self, run: [Phase(Mistake())]})
    with pytest.raises(TypeError, match=r"Phase needs rules, Rules\(.*\), or a solver. Got .*Mistake"):
        algorithm().fit(X, Y)


def test_a_constructor_must_set_the_declared_parameters():
    class OwnConstructor(BaseMarginClassifier):
        def __init__(self, tau=1.0):
            self.tau = tau

        phases = no_phase

    with pytest.raises(TypeError, match="OwnConstructor has an __init__ that does not set .*'C'. Leave"):
        OwnConstructor().fit(X, Y)


@pytest.mark.parametrize("doc", [None, "A perceptron."])
@pytest.mark.parametrize("value", [{}, {"tau": 1.0}])
def test_a_parameter_must_be_declared(doc, value):
    body = {"__annotations__": {"tau": float}, "__doc__": doc, "__module__": __name__, **value}
    with pytest.raises(
        TypeError, match=r"tau of Plain must be declared as tau: TYPE = parameter\(.*Class"
    ):
        type("Plain", (BaseMarginClassifier,), {**body, "phases": no_phase})().fit(X, Y)


def test_class_variables_are_not_parameters():
    class Fine(BaseMarginClassifier):
        kind: ClassVar[str] = "fine"
        tau: float = parameter(NON_NEGATIVE, "A margin.", default=1.0)

        def phases(self, run):
            yield Phase(RULES)

    assert "kind" not in Fine(tau=2.0).fit(X, Y).get_params()
