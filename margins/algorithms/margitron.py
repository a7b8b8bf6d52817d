"""The margitron."""

import math

from margins.base import MaximumMarginClassifier
from margins.parameters import NON_NEGATIVE, Interval, OneOf, optional, parameter
from margins.rules import Additive, FixedThreshold, LengthPower, NoShrink, Rules, UpdatePower
from margins.schedules import DEEP, EASY_EPOCHS, SHALLOWER
from margins.streams import OnlineMixin
from margins.training import Stage


# Full epochs of the perceptron with margin at the start.
OPENING = 5

# Counts stay exact in a double up to here.
MOST_UPDATES = 2.0**53


class Margitron(OnlineMixin, MaximumMarginClassifier):
    """The margitron: a threshold between the fixed functional margin and the fixed directional one.

    A pattern is added when ``a.y <= b t**(1 - exponent)``, t the updates so far, or, the other class
    of thresholds, when ``a.y <= b |a|**(1 - exponent)``. Exponent 1 is the perceptron with margin, in
    either; exponent 0 in the second is the perceptron with fixed margin.

    On separable data it ends if exponent > 0. As b grows, the share of the maximum margin that a
    solution must have grows to ``1 - exponent / 2`` with "t", to ``1 / (1 + exponent)`` with "norm"
    (exponent <= 1); `margins.bounds` has what finite ones promise. The updates grow like
    ``b**(1 / exponent)``, so b asks for an idea of the maximum margin. Here certificates have it: a
    perceptron with margin is run first, b is chosen for the margin that it has achieved, and again,
    for twice the updates, whenever a clean full pass does not prove eps.

    **Source**: Panagiotakopoulos & Tsampouka (2008), The Margitron, arXiv:0805.2752.
    """

    threshold: str = parameter(
        "t",
        OneOf("t", "norm"),
        "What the threshold is a power of: the number of updates, or the length of the weight vector.",
    )
    exponent: float | None = parameter(
        None,
        optional(Interval(0, 2, "left")),
        "The threshold is of power 1 - exponent. None: from eps. More than eps may be out of reach.",
    )
    b: float | None = parameter(
        None,
        optional(NON_NEGATIVE),
        "Factor of the threshold to start with, in units of R**2 ('t') or R**(1 + exponent) ('norm'). "
        "None: from the margin that a perceptron with margin achieves.",
    )
    radius: float | None = parameter(
        None,
        optional(Interval(0, 1e60, "right")),
        "R. None: the length of the longest pattern, augmented and extended; for a stream, of its first "
        "chunk.",
    )

    @property
    def _exponent(self):
        return float(self.eps if self.exponent is None else self.exponent)

    @property
    def _online(self):
        return self.b is not None

    def stages(self, run):
        radius = math.sqrt(run.sqradius) if self.radius is None else self.radius
        updates = 0.0
        if self.b is None:
            b = 0.0
            opening = Rules(FixedThreshold(radius**2), Additive(), NoShrink())
            yield Stage(opening, SHALLOWER, epochs=OPENING)
        else:
            b = float(self.b)
            yield self._stage(b, radius, SHALLOWER, epochs=EASY_EPOCHS)
            if not run.finished:
                yield self._stage(b, radius, DEEP)
        while not run.finished:
            run.certify()
            margin = min(run.certificate.margin / radius, 1.0)
            if margin > 0:  # else the stage finds a separating hyperplane first
                # About as many updates as the theorem asks of eps, or twice those before.
                share = 2 * self.eps * margin**2
                wanted = 1 / share if MOST_UPDATES * share > 1 else MOST_UPDATES
                updates = min(max(2 * updates, wanted), MOST_UPDATES)
                b = max(b, self._factor(margin, updates))
            yield self._stage(b, radius, DEEP)

    def _factor(self, margin, updates):
        """The b, in its unit, of a run that ends after about so many updates; margin in units of R."""
        exponent = self._exponent
        if self.threshold == "t":
            return margin**2 * updates**exponent * (1 - 0.5 * exponent)
        return margin ** (1 + exponent) * updates**exponent / (1 + exponent)

    def _stage(self, b, radius, levels, epochs=None):
        return Stage(self._rules(b, radius, Additive()), levels, epochs=epochs)

    def _rules(self, b, radius, update):
        exponent = self._exponent
        if self.threshold == "t":
            condition = UpdatePower(b * radius**2, exponent)
        else:
            condition = LengthPower(b * radius ** (1 + exponent), exponent)
        return Rules(condition, update, NoShrink())

    def online_rules(self, sqradius):
        radius = math.sqrt(sqradius) if self.radius is None else self.radius
        return self._rules(float(self.b), radius, Additive(most=1))
