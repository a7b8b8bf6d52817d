from margins.algorithms.cramma import ConstantRateMargin
from margins.parameters import Interval, parameter


class MistakeControlledRule(ConstantRateMargin):
    """MICRA: as CRAMMA, with a learning rate that also decreases with the number of updates.

    A sample is misclassified when ``u.y <= beta t**-exponent``, t the number of updates so far; then
    ``u <- u + eta t**-zeta y``, and u is normalised again. zeta = 0 is `cramma`. The phases are the same
    as in `cramma`: eta is the learning rate at the start of a phase, and decreases within it.

    **Use it for** comparisons of falling-rate algorithms. **Avoid it for** unscaled data: it is slow.

    **Source**: Tsampouka & Shawe-Taylor (2007), Approximate maximum margin algorithms with rules
    controlled by the number of mistakes. The phases are an addition.

    See Also
    --------
    ConstantRateMargin : A constant learning rate.
    """

    EXAMPLE = 'get("micra")(random_state=0)'

    zeta: float = parameter(
        Interval(0, 2), "Decay exponent of the learning rate: proportional to t**-zeta.", default=0.3
    )

    @property
    def falling_rate(self):
        return float(self.zeta)
