import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import BOOLEAN, parameter
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.base import Phase


class ServedioAverage(OnlineMixin, BaseMarginClassifier):
    """Servedio's average algorithm: every sample is added once, regardless of the prediction.

    The weight vector is the sum of all samples y_k. It takes one pass and has no parameters. A finite
    `C` is the soft margin of the certificate; updates have no slack terms.
    **Guarantee**: under isotropic distributions it learns half-spaces, even with noise.

    **Use it for** a baseline in one pass. **Avoid it for** correlated or unscaled features.

    **Source**: Servedio (1999); Khardon & Wachman (2007), section 1.

    See Also
    --------
    AveragedPerceptron : The mean of the hypotheses of a perceptron.
    """

    EXAMPLE = 'get("servedio-average")(random_state=0)'
    WEIGHTS_MULTIPLY = "updates"

    C = math.inf
    fit_intercept: bool = parameter(
        BOOLEAN,
        "Learn a bias, the weight of an additional constant feature; the paper's algorithm has none.",
        default=False,
    )

    def specification(self, sqnorms, continues=False):
        return super().specification(sqnorms, continues)._replace(allows_zero_rows=True, model_scale=1.0)

    def online_rules(self, sqradius):
        return Rules(FixedThreshold(math.inf), Additive(most=1), NoShrink())

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius), converged_when=lambda run: True)  # one pass
