"""A typed plug-in, the README's with types: `mypy --strict` finds nothing, and it runs."""

from collections.abc import Iterator
from typing import Literal

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, OneOf, parameter
from margins.rules import Additive, DynamicMargin, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.driver import Run
from margins.solvers.schedules import NESTED_SETS


class HalvingPerceptron(OnlineMixin, MaximumMarginClassifier):
    """A perceptron that first solves an easy problem, then ever harder ones.

    **Source**: Panagiotakopoulos & Tsampouka (2011), section 4, successive accuracies.
    """

    start: float = parameter(Interval(0, 1, "neither"), "The first accuracy.", default=0.5)
    steps: Literal["halves", "one"] = parameter(
        OneOf("halves", "one"), "How the accuracy falls to eps.", default="halves"
    )

    def phases(self, run: Run) -> Iterator[Phase]:
        accuracy = max(self.start, self.eps)
        while not run.reached_goal:
            yield Phase(Rules(DynamicMargin(accuracy), Additive(), NoShrink()), NESTED_SETS)
            accuracy = self.eps if self.steps == "one" else max(accuracy / 2, self.eps)

    def online_rules(self, sqradius: float) -> Rules:
        return Rules(DynamicMargin(self.eps), Additive(most=1), NoShrink())


def made() -> HalvingPerceptron:
    """Its constructor takes its own parameters and the inherited ones."""
    return HalvingPerceptron(start=0.25, steps="one", eps=0.05, C=1, random_state=0)
