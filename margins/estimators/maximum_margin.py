"""Base class of algorithms that prove the accuracy of the margin or of the objective."""

from margins.estimators.base import BaseMarginClassifier
from margins.parameters import Interval, OneOf, parameter


class MaximumMarginClassifier(BaseMarginClassifier):
    """Margin classifier that proves its accuracy.

    See Also
    --------
    SoftMarginClassifier : The same, also with the hinge loss.
    margins.MarginClassifier : Solves the same problem with the fastest solver.

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
        "Accuracy to prove: margin >= (1 - eps) * maximum margin (the soft margin if C < inf); "
        "with the hinge loss, a relative duality gap <= eps.",
        default=0.01,
    )
    stop: str = parameter(
        OneOf("certificate", "clean-pass"),
        "When a fit ends. 'certificate': as soon as the certificate proves eps. 'clean-pass': only "
        "when, in addition, a full epoch has made no updates, as in the papers.",
        default="certificate",
    )

    def specification(self, sqnorms, continues=False):
        specification = super().specification(sqnorms, continues)
        return specification._replace(eps=self.eps, needs_clean_pass=self.stop == "clean-pass")
