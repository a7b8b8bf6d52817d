import math

from margins.algorithms.margin_perceptron import ABOUT_RADIUS
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, optional, parameter
from margins.rules import FallingMargin, NormalisedStep, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import NESTED_SETS

# Maximum number of full epochs between two certificates.
EPOCHS = 3
# Learning rate and exponent of a phase, in units of the unproven share of the margin.
RATE = 0.5
FALL = 0.25


class ConstantRateMargin(OnlineMixin, MaximumMarginClassifier):
    """CRAMMA: a normalised weight vector, a decreasing margin threshold, a constant learning rate.

    A sample is misclassified when ``u.y <= beta t**-exponent``, t the number of updates so far; then
    ``u <- u + eta y``, and u is normalised again. If beta t**-exponent is just below the maximum margin
    and eta is small, the solution is arbitrarily good; suitable values depend on the data.

    They are estimated from certificates. After every full pass without updates, and after at most a few
    other passes, a new phase starts: its threshold is at most the proven upper bound of the margin, and
    eta and the exponent are at most proportional to the unproven share of the margin. A run ends when
    eps is proven; no bound on the number of updates is known.

    **Use it for** comparisons of constant-rate algorithms. **Avoid it for** unscaled data: it is slow.

    **Source**: Tsampouka & Shawe-Taylor (2006), Constant rate approximate maximum margin algorithms.
    The phases are an addition.

    See Also
    --------
    MistakeControlledRule : A decreasing learning rate.
    Margitron : Other thresholds that decrease with the updates.
    """

    EXAMPLE = 'get("cramma")(random_state=0)'

    beta: float = parameter(Interval(0, 1e60), "Initial margin threshold, in units of R.", default=1.0)
    eta: float = parameter(
        Interval(1e-20, 1e20), "Initial learning rate, in units of 1 / R.", default=0.1
    )
    exponent: float | None = parameter(
        optional(Interval(0, 2)),
        "Decay exponent of the threshold. None: 1/2 in a stream and at first, then as above.",
        default=None,
    )
    radius: float | None = parameter(optional(Interval(1e-60, 1e60)), ABOUT_RADIUS, default=None)

    # Decay exponent of the learning rate.
    falling_rate = 0.0

    def phases(self, run):
        beta, eta, exponent = self._first_values(run.sqradius)
        yield self._phase_of(beta, exponent, eta)
        while not run.reached_goal:
            run.certify()
            bound = min(run.certificate.upper_bound, math.sqrt(run.sqradius))
            unproven = max(1 - run.certificate.fraction, self.eps)
            t = max(run.weights.t, 1.0)
            threshold = bound if run.last_epoch_changed_nothing else min(beta * t**-exponent, bound)
            eta = min(eta, RATE * unproven * bound / run.sqradius)
            if self.exponent is None:
                exponent = min(FALL * unproven, 0.5)
            beta = threshold * t**exponent
            # eta is the learning rate at the first update of the phase.
            yield self._phase_of(beta, exponent, eta * t**self.falling_rate)

    def _first_values(self, sqradius):
        """Return the initial beta, eta and exponent, the first two in the units of X."""
        radius = math.sqrt(sqradius) if self.radius is None else self.radius
        exponent = 0.5 if self.exponent is None else float(self.exponent)
        return self.beta * radius, self.eta / radius, exponent

    def _phase_of(self, beta, exponent, eta):
        return Phase(self._rules_of(beta, exponent, eta), NESTED_SETS, epochs=EPOCHS)

    def _rules_of(self, beta, exponent, eta):
        step = NormalisedStep(eta, self.falling_rate)
        return Rules(FallingMargin(beta, exponent), step, NoShrink())

    def online_rules(self, sqradius):
        beta, eta, exponent = self._first_values(sqradius)
        return self._rules_of(beta, exponent, eta)
