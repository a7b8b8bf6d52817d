import math
from typing import Literal

from margins.algorithms.margin_perceptron import ABOUT_RADIUS, RADII
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import NON_NEGATIVE, Interval, OneOf, optional, parameter
from margins.rules import Additive, FixedThreshold, LengthPower, NoShrink, Rules, UpdatePower
from margins.solvers.base import Phase
from margins.solvers.schedules import EASY_EPOCHS, NESTED_SETS, SHALLOWER

# Full epochs of the perceptron with margin in the initial phase.
INITIAL_EPOCHS = 5

# Limits the margin required next: after PATIENCE times the updates so far, the threshold has decreased
# to the margin achieved.
PATIENCE = 4.0


class Margitron(OnlineMixin, MaximumMarginClassifier):
    """The margitron: a threshold between a fixed functional margin and a fixed directional margin.

    A sample is added when ``a.y <= b t**(1 - exponent)``, t the number of updates so far, or, with
    ``threshold="norm"``, when ``a.y <= b |a|**(1 - exponent)``. Exponent 1 is the perceptron with margin
    for both thresholds; exponent 0 with "norm" is the perceptron with fixed margin.

    On separable data it ends if exponent > 0. As b grows, the guaranteed share of the maximum margin
    tends to ``1 - exponent / 2`` with "t", and to ``1 / (1 + exponent)`` with "norm" (exponent <= 1);
    `margins.bounds` has the guarantees for finite b. The number of updates grows like
    ``b**(1 / exponent)``, so a good b needs an estimate of the maximum margin, which certificates give:
    a perceptron with margin runs first. Then, and whenever a full pass without updates does not prove
    eps, the exponent is set to the unproven share of the margin (but not below a given exponent), and b
    is set so that the margin required next is between the margin achieved and the upper bound.

    **Use it for** studies of growing thresholds. **Avoid it for** a known number of updates.

    **Source**: Panagiotakopoulos & Tsampouka (2008), The Margitron, arXiv:0805.2752.

    See Also
    --------
    MarginPerceptron : The threshold with exponent 1.
    FixedMarginPerceptron : The threshold in |a| with exponent 0.
    """

    EXAMPLE = 'get("margitron")(random_state=0)'

    threshold: Literal["t", "norm"] = parameter(
        OneOf("t", "norm"),
        "Base of the threshold: the number of updates, or the norm of the weight vector.",
        default="t",
    )
    exponent: float | None = parameter(
        optional(Interval(0, 2, "left")),
        "The power of the threshold is 1 - exponent: from the start if b is given; otherwise as soon as "
        "at most this share of the margin is unproven. None: eps; max(1/2, eps) if b is given. With a "
        "value above eps, eps may be unreachable.",
        default=None,
    )
    b: float | None = parameter(
        optional(NON_NEGATIVE),
        "Initial factor of the threshold, in units of R**2 ('t') or R**(1 + exponent) ('norm'). "
        "None: from the margin achieved by a perceptron with margin.",
        default=None,
    )
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    @property
    def is_online(self):
        return self.b is not None

    def phases(self, run):
        radius = math.sqrt(run.sqradius) if self.radius is None else self.radius
        if self.b is None:
            initial = Rules(FixedThreshold(radius**2), Additive(), NoShrink())
            yield Phase(initial, SHALLOWER, epochs=INITIAL_EPOCHS)
        else:
            yield Phase(self._rules_of(radius, Additive()), SHALLOWER, epochs=EASY_EPOCHS)
            if not run.reached_goal:
                yield Phase(self._rules_of(radius, Additive()), NESTED_SETS)
        while not run.reached_goal:
            run.certify()
            yield Phase(Rules(self._raised(run), Additive(), NoShrink()), NESTED_SETS)

    def _raised(self, run):
        """Return the condition that requires more than the margin achieved so far."""
        certificate, weights = run.certificate, run.weights
        achieved, bound = certificate.margin, certificate.upper_bound
        if not (achieved > 0 and weights.sqnorm > 0):
            return self._condition(0.0, 1.0)  # first find a separating hyperplane
        unproven = max(1 - certificate.fraction, self.eps)
        exponent = unproven if self.exponent is None else max(unproven, float(self.exponent))
        required = min(bound, achieved * PATIENCE**exponent)
        length = math.sqrt(weights.sqnorm)
        base = weights.t if self.threshold == "t" else length
        return self._condition(required * length / base ** (1 - exponent), exponent)

    def _condition(self, b, exponent):
        """Return the condition for b in the units of X."""
        return (UpdatePower if self.threshold == "t" else LengthPower)(b, exponent)

    def _rules_of(self, radius, update):
        """Return the rules for the parameter b."""
        exponent = max(self.eps, 0.5) if self.exponent is None else float(self.exponent)
        unit = radius**2 if self.threshold == "t" else radius ** (1 + exponent)
        return Rules(self._condition(self.b * unit, exponent), update, NoShrink())

    def online_rules(self, sqradius):
        radius = math.sqrt(sqradius) if self.radius is None else self.radius
        return self._rules_of(radius, Additive(most=1))
