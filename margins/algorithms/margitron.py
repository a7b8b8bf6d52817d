"""The margitron."""

import math
from typing import Literal

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import NON_NEGATIVE, Interval, OneOf, optional, parameter
from margins.rules import Additive, FixedThreshold, LengthPower, NoShrink, Rules, UpdatePower
from margins.solvers.base import Phase
from margins.solvers.schedules import DEEP, EASY_EPOCHS, SHALLOWER

# Full epochs of the perceptron with margin at the start.
OPENING = 5

# The margin demanded next is so large at most that, if it is too large, so many times the updates have
# made it small enough.
PATIENCE = 4.0


class Margitron(OnlineMixin, MaximumMarginClassifier):
    """The margitron: a threshold between the fixed functional margin and the fixed directional one.

    A pattern is added when ``a.y <= b t**(1 - exponent)``, t the updates so far, or, the other class
    of thresholds, when ``a.y <= b |a|**(1 - exponent)``. Exponent 1 is the perceptron with margin, in
    either; exponent 0 in the second is the perceptron with fixed margin.

    On separable data it ends if exponent > 0. As b grows, the share of the maximum margin that a
    solution must have grows to ``1 - exponent / 2`` with "t", to ``1 / (1 + exponent)`` with "norm"
    (exponent <= 1); `margins.bounds` has what finite ones promise. The updates grow like
    ``b**(1 / exponent)``, so b asks for an idea of the maximum margin. Here certificates have it: a
    perceptron with margin is run first. Then, and whenever a clean full pass does not prove eps, the
    exponent becomes the share of the margin that is unproven (but not less than given), and b such that
    the margin demanded next lies between the one achieved and the upper bound.

    **Source**: Panagiotakopoulos & Tsampouka (2008), The Margitron, arXiv:0805.2752.
    """

    threshold: Literal["t", "norm"] = parameter(
        OneOf("t", "norm"),
        "What the threshold is a power of: the number of updates, or the length of the weight vector.",
        default="t",
    )
    exponent: float | None = parameter(
        optional(Interval(0, 2, "left")),
        "The threshold is of power 1 - exponent: with a b that is given, from the start; else when no "
        "more than so much of the margin is unproven. None: eps; beside a given b 1/2, or eps if "
        "that is more. With one above eps, eps may be out of reach.",
        default=None,
    )
    b: float | None = parameter(
        optional(NON_NEGATIVE),
        "Factor of the threshold to start with, in units of R**2 ('t') or R**(1 + exponent) ('norm'). "
        "None: from the margin that a perceptron with margin achieves.",
        default=None,
    )
    radius: float | None = parameter(
        optional(Interval(0, 1e60, "right")),
        "R. None: the length of the longest pattern, augmented and extended; for a stream, of its first "
        "chunk.",
        default=None,
    )

    @property
    def _online(self):
        return self.b is not None

    def phases(self, run):
        radius = math.sqrt(run.sqradius) if self.radius is None else self.radius
        if self.b is None:
            opening = Rules(FixedThreshold(radius**2), Additive(), NoShrink())
            yield Phase(opening, SHALLOWER, epochs=OPENING)
        else:
            yield Phase(self._rules(radius, Additive()), SHALLOWER, epochs=EASY_EPOCHS)
            if not run.finished:
                yield Phase(self._rules(radius, Additive()), DEEP)
        while not run.finished:
            run.certify()
            yield Phase(Rules(self._raised(run), Additive(), NoShrink()), DEEP)

    def _raised(self, run):
        """The condition that demands more than the margin achieved."""
        certificate, weights = run.certificate, run.weights
        achieved, bound = certificate.margin, certificate.upper_bound
        if not (achieved > 0 and weights.sqnorm > 0):
            return self._condition(0.0, 1.0)  # a separating hyperplane first
        exponent = self._exponent(max(1 - certificate.fraction, self.eps))
        demanded = min(bound, achieved * PATIENCE**exponent)
        length = math.sqrt(weights.sqnorm)
        base = weights.t if self.threshold == "t" else length
        return self._condition(demanded * length / base ** (1 - exponent), exponent)

    def _exponent(self, unproven):
        return unproven if self.exponent is None else max(unproven, float(self.exponent))

    def _condition(self, b, exponent):
        """Of b in the units of X."""
        return (UpdatePower if self.threshold == "t" else LengthPower)(b, exponent)

    def _rules(self, radius, update):
        """By the b that is given."""
        exponent = max(self.eps, 0.5) if self.exponent is None else float(self.exponent)
        unit = radius**2 if self.threshold == "t" else radius ** (1 + exponent)
        return Rules(self._condition(self.b * unit, exponent), update, NoShrink())

    def online_rules(self, sqradius):
        radius = math.sqrt(sqradius) if self.radius is None else self.radius
        return self._rules(radius, Additive(most=1))
