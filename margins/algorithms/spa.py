import math

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin
from margins.parameters import POSITIVE, parameter
from margins.rules import Mistake, NoShrink, Rules, Shifting


class ShiftingPerceptron(OnlineMixin, BaseMarginClassifier):
    """The shifting perceptron: a weighted mean of the mistakes, in which recent mistakes weigh more.

    Mistake t + 1 sets ``a <- (t a + lam y) / (lam + t)``, so the sample of mistake j has a weight
    proportional to about ``j**(lam - 1)``. lam = 1 gives the updates of the perceptron, lam = 2 the
    updates of `mpvs` with n = 1 and b = 0. **Guarantee**: on separable data it ends after at most
    ``lam**2 / (2 lam - 1) * (R / gamma)**2`` updates, gamma the maximum margin, if lam > 1/2.

    **Use it for** comparisons with the shifting perceptron. **Avoid it for** accuracy: in the streams
    of docs/streams.md other algorithms make fewer errors.

    **Source**: Cavallanti, Cesa-Bianchi & Gentile (2007), Tracking the best hyperplane with a simple
    budget perceptron, section 3. The bound on the number of updates is derived here.

    See Also
    --------
    VariableShrinkingMarginPerceptron : The same updates with lam = 2 and a margin.
    RandomBudgetPerceptron : From the same paper.
    """

    EXAMPLE = 'get("spa")(lam=1.5, random_state=0)'
    WEIGHTS_MULTIPLY = "updates"

    C = math.inf
    lam: float = parameter(POSITIVE, "Weight of recent mistakes; 1: equal weights.", default=2.0)

    def online_rules(self, sqradius):
        return Rules(Mistake(), Shifting(self.lam), NoShrink())
