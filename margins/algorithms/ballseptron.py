import math

import numpy as np

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import Interval, optional, parameter
from margins.rules import BallStep, FixedMargin, NoShrink, Rules
from margins.solvers.base import Phase
from margins.solvers.schedules import EASY_EPOCHS


class Ballseptron(OnlineMixin, BaseMarginClassifier):
    """The Ballseptron: a ball around every sample must be classified correctly.

    A misclassified sample is added. If a sample is classified correctly, but closer to the hyperplane
    than `radius`, the nearest point of its ball is added instead, ``y - radius a / |a|``. **Guarantee**:
    if the radius is below the maximum margin gamma, it ends with a margin above the radius, after at
    most ``(R**2 + radius**2) / (gamma - radius)**2`` updates. If the radius is too large, ``|a| / S``
    may fall below it, which proves that no such margin exists: the fit ends with a warning.

    **Use it for** margins known to exceed a radius. **Avoid it for** unknown margins.

    **Source**: Shalev-Shwartz & Singer (2005), A new perspective on an old perceptron algorithm. The
    bound on the number of updates is derived here.

    See Also
    --------
    FixedMarginPerceptron : A margin instead of a radius.
    """

    EXAMPLE = 'get("ballseptron")(radius=0.5, random_state=0)'
    WEIGHTS_MULTIPLY = "updates"

    C = math.inf
    radius: float | None = parameter(
        optional(Interval(0, 1e60)),
        "Radius of the balls, in the units of X; 0: the perceptron. None, with C < inf: half the margin "
        "that the slack terms alone ensure. None, with C = inf: twice the margin of a perceptron, "
        f"doubled as long as a run takes at most {EASY_EPOCHS} epochs; finally 0.99 times the last "
        "margin achieved.",
        default=None,
    )

    @property
    def is_online(self):
        return self.radius is not None

    def specification(self, sqnorms, continues=False):
        # A fit ends if |a| / S, a bound for its samples alone, falls below the radius.
        return super().specification(sqnorms, continues)._replace(needs_same_samples=True)

    def phases(self, run):
        if self.radius is not None:
            yield _phase(float(self.radius))
        elif not math.isinf(self.C):
            yield _phase(0.5 / math.sqrt(float(np.sum(1 / run.data.diagonal))))
        else:
            yield _phase(0.0)._replace(is_last=False)
            while True:
                run.certify()
                achieved = run.certificate.margin
                if 2 * achieved >= run.upper_bound:
                    return  # at least half of the maximum margin
                yield _phase(2 * achieved, epochs=EASY_EPOCHS)._replace(is_last=False)
                if not run.last_epoch_changed_nothing:
                    yield _phase(0.99 * achieved)  # below the maximum margin, so it converges
                    return

    def online_rules(self, sqradius):
        return _rules(float(self.radius))


def _phase(radius, epochs=None):
    def infeasible(run):
        if epochs is not None or run.upper_bound >= radius:
            return None
        return (
            f"no margin exceeds {run.upper_bound:.6g}, so balls of radius {radius:.6g} cannot be "
            "kept apart; give a smaller radius"
        )

    return Phase(_rules(radius), epochs=epochs, infeasible=infeasible)


def _rules(radius):
    return Rules(FixedMargin(radius), BallStep(radius), NoShrink())
