"""CRAMMA, the constant rate approximate maximum margin algorithm."""

import math

from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, optional, parameter
from margins.rules import FallingMargin, NormalisedStep, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import DEEP

# After so many full epochs at most a stage looks at what is proven.
EPOCHS = 3
# What a stage that starts at the upper bound makes of the share of the margin that is unproven.
RATE = 0.5
FALL = 0.25


class ConstantRateMargin(OnlineMixin, MaximumMarginClassifier):
    """CRAMMA: a weight vector of length 1, a margin demanded that falls, a constant rate.

    A pattern is misclassified when ``u.y <= beta t**-exponent``, t the updates so far; then
    ``u <- u + eta y``, and u is normalised again. Were beta t**-exponent to stay just below the maximum
    margin, and eta small, the solution would be as good as one likes; both depend on the data.

    Certificates tell. After every clean full pass, and after a few others, the run goes on in a new
    phase: the margin demanded is at most the upper bound that is proven, and eta and the exponent are
    at most in proportion to the share of it that is unproven. A run ends when eps is proven; it is not
    known how many updates that takes.

    **Source**: Tsampouka & Shawe-Taylor (2006), Constant rate approximate maximum margin algorithms.
    The phases are ours.
    """

    beta: float = parameter(
        Interval(0, 1e60), "Sets the margin demanded to start with, in units of R.", default=1.0
    )
    eta: float = parameter(
        Interval(1e-20, 1e20), "Learning rate to start with, in units of 1 / R.", default=0.1
    )
    exponent: float | None = parameter(
        optional(Interval(0, 2)),
        "How fast the margin demanded falls. None: 1/2 in a stream and to start with, then as above.",
        default=None,
    )
    radius: float | None = parameter(
        optional(Interval(1e-60, 1e60)),
        "R. None: the length of the longest pattern, augmented and extended; for a stream, of its first "
        "chunk.",
        default=None,
    )

    # By what power of 1 / t the learning rate falls.
    _falling_rate = 0.0

    def phases(self, run):
        beta, eta, exponent = self._start(run.sqradius)
        yield self._phase(beta, exponent, eta)
        while not run.finished:
            run.certify()
            bound = min(run.certificate.upper_bound, math.sqrt(run.sqradius))
            unproven = max(1 - run.certificate.fraction, self.eps)
            t = max(run.weights.t, 1.0)
            demanded = bound if run.clean else min(beta * t**-exponent, bound)
            eta = min(eta, RATE * unproven * bound / run.sqradius)
            if self.exponent is None:
                exponent = min(FALL * unproven, 0.5)
            beta = demanded * t**exponent
            # eta is the rate at the stage's first update.
            yield self._phase(beta, exponent, eta * t**self._falling_rate)

    def _start(self, sqradius):
        """beta, eta and the exponent to start with, the first two in the units of X."""
        radius = math.sqrt(sqradius) if self.radius is None else self.radius
        exponent = 0.5 if self.exponent is None else float(self.exponent)
        return self.beta * radius, self.eta / radius, exponent

    def _phase(self, beta, exponent, eta):
        return Phase(self._rules(beta, exponent, eta), DEEP, epochs=EPOCHS)

    def _rules(self, beta, exponent, eta):
        step = NormalisedStep(eta, self._falling_rate)
        return Rules(FallingMargin(beta, exponent), step, NoShrink())

    def online_rules(self, sqradius):
        beta, eta, exponent = self._start(sqradius)
        return self._rules(beta, exponent, eta)
