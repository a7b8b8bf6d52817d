"""The base of algorithms that prove an accuracy of the margin or of the objective."""

from margins.estimators.base import BaseMarginClassifier
from margins.parameters import Interval, OneOf, parameter


class MaximumMarginClassifier(BaseMarginClassifier):
    """A margin classifier that proves its accuracy.

    See Also
    --------
    SoftMarginClassifier : Also the hinge loss.
    margins.MarginClassifier : The same problem by the fastest solver.

    Examples
    --------
    >>> from margins.rules import Additive, DynamicMargin, NoShrink, Rules
    >>> from margins.solvers.base import Phase
    >>> class OnePhase(MaximumMarginClassifier):
    ...     def phases(self, run):
    ...         yield Phase(Rules(DynamicMargin(self.eps), Additive(), NoShrink()))
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
    >>> OnePhase(eps=0.1, random_state=0).fit(X, y).converged_
    True
    """

    eps: float = parameter(
        Interval(0, 1, "right"),
        "Accuracy to prove: margin >= (1 - eps) * maximum margin, of the soft margin if C < inf; "
        "for the hinge loss, relative duality gap <= eps.",
        default=0.01,
    )
    stop: str = parameter(
        OneOf("certificate", "clean-pass"),
        "When a fit ends: as soon as the certificate proves eps, or, as in the papers, only when, "
        "besides, a full epoch has changed nothing.",
        default="certificate",
    )

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        return specification._replace(eps=self.eps, needs_clean_pass=self.stop == "clean-pass")
