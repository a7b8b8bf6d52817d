"""The perceptron with dynamic margin, by a compiled rule of this package."""

from fresh_rules import FreshMargin

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.rules import Additive, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import NESTED_SETS, NESTED_SETS_FIRST_EPOCH


class FreshMarginPerceptron(MaximumMarginClassifier):
    """The perceptron with dynamic margin, by a rule from elsewhere.

    **Source**: Panagiotakopoulos & Tsampouka (2011), condition (8).
    """

    def phases(self, run):
        condition = FreshMargin(1 - self.eps)
        rules = Rules(condition, Additive(), NoShrink())
        single = Rules(condition, Additive(most=1), NoShrink())
        yield Phase(rules, NESTED_SETS_FIRST_EPOCH, full_pass_rules=single, epochs=1)
        yield Phase(rules, NESTED_SETS)
