"""MICRA, the mistake-controlled rule algorithm."""

from margins.algorithms.cramma import ConstantRateMargin
from margins.parameters import Interval, parameter


class MistakeControlledRule(ConstantRateMargin):
    """MICRA: as CRAMMA, with a learning rate that also falls with the number of updates.

    A pattern is misclassified when ``u.y <= beta t**-exponent``, t the updates so far; then
    ``u <- u + eta t**-zeta y``, and u is normalised again. zeta = 0 is `cramma`, whose phases take the
    run to eps here, too: eta is then the rate at the start of a stage, and falls within it.

    **Source**: Tsampouka & Shawe-Taylor (2007), Approximate maximum margin algorithms with rules
    controlled by the number of mistakes. The phases are ours.
    """

    zeta: float = parameter(
        Interval(0, 2), "How fast the learning rate falls: like t to the power -zeta.", default=0.3
    )

    @property
    def _falling_rate(self):
        return float(self.zeta)
