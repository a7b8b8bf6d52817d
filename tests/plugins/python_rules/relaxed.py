"""A margin perceptron of three Python rules."""

from margins import rules
from margins.estimators.base import BaseMarginClassifier
from margins.solvers.base import Phase


@rules.condition
def below_half_of_the_bound(sqnorm, dual_sum):
    """sqrt(sqnorm) / dual_sum bounds the maximum margin from above; the threshold is half of it."""
    return 0.5 * sqnorm / dual_sum if dual_sum else 0.0


@rules.update
def past_the_threshold(product, threshold, sample_sqnorm, factor):
    """As much as takes the product to the threshold, and at least one hundredth of the sample."""
    return max((threshold - factor * product) / sample_sqnorm, 0.01)


@rules.shrink
def forget_a_little(t):
    """Less and less, so that it ends."""
    return 1.0 - 0.1 / (t + 1.0) ** 2


class RelaxedPerceptron(BaseMarginClassifier):
    """A perceptron that goes a little past a threshold of half the best margin still possible.

    **Source**: docs/extending.md.
    """

    def phases(self, run):
        yield Phase(rules.Rules(below_half_of_the_bound, past_the_threshold, forget_a_little))
