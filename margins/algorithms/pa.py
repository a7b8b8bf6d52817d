import math
import warnings
from typing import Literal

from margins.estimators.step import ABOUT_RADIUS, RADII, StepClassifier
from margins.parameters import Interval, OneOf, parameter
from margins.rules import Average, MarginError, NoShrink, PassiveAggressive, Rules


class PassiveAggressiveClassifier(StepClassifier):
    """The passive-aggressive algorithm: the smallest change that gives the sample functional margin 1.

    A sample with ``a.y >= 1``, ties included, causes no update; any other is added with the factor
    ``c = loss / |y|**2``, where the loss is ``1 - a.y``.

    On data of maximum margin gamma the squared losses of all processed samples sum to at most ``(R /
    gamma)**2``. **Guarantee**: on separable data a fit ends after at most ``(R / (gamma min_loss))**2``
    updates, with at least ``(1 - min_loss) / 2`` of gamma, because a never leaves the ball of radius 1 /
    gamma around the weight vector of maximum margin. There is no guarantee for other data.

    **Use it for** a drifting target with clean labels. **Avoid it for** noisy labels: `pa-i` limits
    its steps.

    **Source**: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Figure 1, Theorem 2.

    See Also
    --------
    PassiveAggressiveClassifierI : A maximum step.
    PassiveAggressiveClassifierII : Damped steps.
    """

    EXAMPLE = 'get("pa")(random_state=0)'

    min_loss: float = parameter(
        Interval(0, 1, "left"),
        "Losses up to this value cause no update. 0: as in the paper, but then the losses of repeated "
        "epochs tend to 0 on separable data without reaching it, and a fit does not converge.",
        default=1e-9,
    )
    averaging: Literal["last", "averaged"] = parameter(
        OneOf("last", "averaged"),
        "The model of a fit: the last weight vector, or the mean of all weight vectors, each weighted "
        "by the number of samples processed with it.",
        default="last",
    )

    def online_rules(self, sqradius):
        return Rules(MarginError(1 - self.min_loss), self.update_rule(sqradius), NoShrink())

    def online_averaging(self, weights):
        return Average(weights, "accesses") if self.averaging == "averaged" else None

    def update_rule(self, sqradius):
        """Return the update for R^2."""
        return PassiveAggressive()


class AggressiveClassifier(PassiveAggressiveClassifier):
    """Passive-aggressive algorithm whose steps are limited by its aggressiveness."""

    WEIGHTS_MULTIPLY = "relative updates"

    aggressiveness: float = parameter(
        Interval(1e-60, 1e60),
        "The paper's C, in units of 1 / R**2: the larger, the larger the steps (of PA-I: the largest "
        "step). Not the `C` of the soft margin.",
        default=1.0,
    )
    radius: float | None = parameter(RADII, ABOUT_RADIUS, default=None)

    def check_parameters(self):
        super().check_parameters()
        if math.inf != self.C and self.aggressiveness == 1.0:
            warnings.warn(
                f"C={self.C!r} of {self._display_name()} is the penalty of the soft margin's slack "
                "terms. The C of the paper, which is C of scikit-learn's PassiveAggressiveClassifier "
                "and eta0 of SGDClassifier(learning_rate='pa1'), is `aggressiveness` with radius=1.",
                UserWarning,
                stacklevel=4,
            )
