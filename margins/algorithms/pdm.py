import math

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import BOOLEAN, Interval, parameter
from margins.rules import Additive, DynamicMargin, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import NESTED_SETS, NESTED_SETS_FIRST_EPOCH


class DynamicMarginPerceptron(OnlineMixin, MaximumMarginClassifier):
    """The perceptron with dynamic margin: require ``1 - eps`` of the upper bound of the margin.

    A sample is misclassified when ``a.y <= (1 - eps) |a|**2 / t``, since after t updates ``|a| / t``
    is an upper bound of the maximum margin. On separable data (with C < inf, on all data) it ends with
    at least ``1 - eps`` of the maximum margin, without prior knowledge of the data.

    **Use it for** a maximum margin by the simplest rule. **Avoid it for** overlapping classes and eps
    below 0.01: updates grow as ``1 / eps**2``.

    **Source**: Panagiotakopoulos & Tsampouka (2011), condition (8), Theorem 3.2, section 4.

    See Also
    --------
    SuccessiveDynamicMarginPerceptron : Successive accuracies.
    FixedMarginPerceptron : A given margin.
    """

    EXAMPLE = 'get("pdm")(eps=0.05, random_state=0)'

    successive: bool = parameter(
        BOOLEAN,
        "Run with accuracies 1/2, 1/2/eta, 1/2/eta**2, ... down to eps, each starting from the previous "
        "solution, which takes fewer updates.",
        default=False,
    )
    eta: float = parameter(
        Interval(1, math.inf, "neither"), "Ratio of successive accuracies, if `successive`.", default=8.0
    )

    def phases(self, run):
        if self.successive and self.eps < 0.5:
            accuracy = 0.5
            while accuracy > self.eps:
                yield _phase(accuracy)
                accuracy = max(accuracy / self.eta, self.eps)
            yield _phase(self.eps)
        else:
            # No multiple updates in the first pass: for similar samples they would inflate |a| / t.
            single = Rules(DynamicMargin(self.eps), Additive(most=1), NoShrink())
            rules = Rules(single.condition, Additive(), NoShrink())
            yield Phase(rules, NESTED_SETS_FIRST_EPOCH, full_pass_rules=single, epochs=1)
            yield Phase(rules, NESTED_SETS)

    @property
    def is_online(self):
        return not (self.successive and self.eps < 0.5)

    def online_rules(self, sqradius):
        return Rules(DynamicMargin(self.eps), Additive(most=1), NoShrink())


class SuccessiveDynamicMarginPerceptron(DynamicMarginPerceptron):
    """The perceptron with dynamic margin, run with successive accuracies.

    It is `DynamicMarginPerceptron` with ``successive=True`` and ``stop="clean-pass"``: as published, the
    fit runs through all accuracies, even if an earlier one already proves `eps`.

    **Use it for** fewer updates than `pdm`. **Avoid it for** runs that stop early.

    **Source**: Panagiotakopoulos & Tsampouka (2011), section 4, "PDM-succ".

    See Also
    --------
    DynamicMarginPerceptron : One accuracy from the start.
    """

    EXAMPLE = 'get("pdm-succ")(eps=0.05, random_state=0)'
    successive = True
    stop = "clean-pass"


def _phase(accuracy):
    return Phase(Rules(DynamicMargin(accuracy), Additive(), NoShrink()), NESTED_SETS)
