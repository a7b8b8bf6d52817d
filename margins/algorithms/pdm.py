"""The perceptron with dynamic margin."""

import math

from margins.estimators.online import OnlineMixin
from margins.parameters import BOOLEAN, Interval, parameter
from margins.rules import Additive, DynamicMargin, NoShrink, Rules
from margins.solvers.driver import Stage
from margins.solvers.newton.stages import NewtonClassifier, opening_of
from margins.solvers.schedules import DEEP, DEEP_OPENING


class DynamicMarginPerceptron(OnlineMixin, NewtonClassifier):
    """The perceptron with dynamic margin: demand ``1 - eps`` of the margin that may still be possible.

    A pattern is misclassified when ``a.y <= (1 - eps) |a|**2 / t``, since after t updates ``|a| / t``
    bounds the maximum margin from above. On separable data (and with C < inf all data are) it ends,
    with any share ``1 - eps`` of the maximum margin that is asked for, knowing nothing of the data.

    Where features are few, Newton steps finish what its first visits have begun; see `newton`.

    **Source**: Panagiotakopoulos & Tsampouka (2011), condition (8), Theorem 3.2, section 4.
    """

    successive: bool = parameter(
        BOOLEAN,
        "Run through accuracies 1/2, 1/2/eta, 1/2/eta**2, ... down to eps, each starting from the last "
        "one's solution: fewer updates.",
        default=False,
    )
    eta: float = parameter(
        Interval(1, math.inf, "neither"), "Ratio of successive accuracies, if `successive`.", default=8.0
    )

    def stages(self, run):
        # Early multiple updates of alike patterns would inflate |a| / t: none in the first pass.
        single = Rules(DynamicMargin(self.eps), Additive(most=1), NoShrink())
        yield from self.newton_stages(run, [opening_of(run, Stage(single))])
        run.weights.clear()  # not finished: begin anew
        if self.successive and self.eps < 0.5:
            accuracy = 0.5
            while accuracy > self.eps:
                yield self._stage(accuracy)
                accuracy = max(accuracy / self.eta, self.eps)
            yield self._stage(self.eps)
        else:
            rules = Rules(single.condition, Additive(), NoShrink())
            yield Stage(rules, DEEP_OPENING, full_pass_rules=single, epochs=1)
            yield Stage(rules, DEEP)

    @property
    def _online(self):
        return not (self.successive and self.eps < 0.5)

    def online_rules(self, sqradius):
        return Rules(DynamicMargin(self.eps), Additive(most=1), NoShrink())

    @staticmethod
    def _stage(accuracy):
        return Stage(Rules(DynamicMargin(accuracy), Additive(), NoShrink()), DEEP)


class SuccessiveDynamicMarginPerceptron(DynamicMarginPerceptron):
    """The perceptron with dynamic margin, run through successive accuracies.

    As `DynamicMarginPerceptron` with ``successive=True``.

    **Source**: Panagiotakopoulos & Tsampouka (2011), section 4, "PDM-succ".
    """

    successive: bool = parameter(
        BOOLEAN, "Run through accuracies 1/2, 1/2/eta, 1/2/eta**2, ... down to eps.", default=True
    )
