"""Certificates: bounds of the optimum that a weight vector and its dual variables prove.

With a = sum_k alpha_k y_k and every alpha_k >= 0 feasible, each loss (`margins.losses`) has a primal
objective, which the weight vector attains, and a dual one, which the alpha_k attain. The optimum lies
between them, so their difference bounds the error, at any time of any fit.

Bounds are computed in double arithmetic. Those of a fit that has ended are off by at most 1e-9 of
themselves: where rounding could make a larger difference, as with a large C |x|^2, the primal value is
computed from the coefficients as they are rounded, in twice the working precision
(`margins.solvers.certification`). With a kernel they are those of the kernel matrix as it was computed.

Where the problem is that of a maximum margin gamma, the optimum is 1 / (2 gamma^2): a primal value is a
margin achieved, 1 / sqrt(2 primal), and a dual value bounds the maximum margin from above by
1 / sqrt(2 dual) = |a| / sum_k alpha_k. If the intercept is penalised, these are margins of samples with
one more feature, whose weight is the intercept; if it is free, distances of samples from a hyperplane.

Source: Panagiotakopoulos & Tsampouka (2010), (13), (20), (24); (2011), (4) and section 2.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """Proven bounds of one binary problem, valid also without convergence.

    For the hinge loss `gap` is the field to read: `margin`, `upper_bound` and `fraction` then only
    restate the two objectives.

    Attributes
    ----------
    margin : float
        Margin achieved, in the units of X. With a free intercept and C = inf it is the distance of the
        closest sample from the hyperplane. A penalised intercept counts as one more weight, which makes
        the margin smaller: `geometric_margin` of the classifier gives the distance. For C < inf it is
        the 2-norm soft margin, with every slack at its best. Negative if C = inf and the classes are
        not separated.
    upper_bound : float
        No weight vector has a larger margin.
    fraction : float in [0, 1]
        ``margin / upper_bound``: the proven share of the maximum margin.
    primal : float
        Objective of `coef_`, `intercept_`; inf if C = inf and not every functional margin is at least 1.
        Algorithms that set the length of `coef_` themselves do not minimise it: `rescaled_primal` is
        the objective of the best multiple.
    dual : float
        No weight vector has a smaller objective.
    gap : float in [0, inf]
        Relative duality gap, ``primal / dual - 1``.
    n_updates : int
        Updates of the run, multiplicities counted.

    Examples
    --------
    >>> certificate = Certificate.from_bounds(primal=2.0, dual=1.9, n_updates=7)
    >>> certificate.margin, round(certificate.fraction, 3), round(certificate.gap, 3)
    (0.5, 0.975, 0.053)
    >>> certificate.rescaled_primal
    2.0
    >>> print(certificate)
    objective 2, at most 5.3 % above the optimum
    """

    margin: float
    upper_bound: float
    fraction: float
    primal: float
    dual: float
    gap: float
    n_updates: int

    def __str__(self):
        """What is proven, in one line: str."""
        if self.primal < math.inf:
            proven = f", at most {100 * self.gap:.2g} % above the optimum" if self.dual > 0 else ""
            return f"objective {self.primal:.5g}{proven or '; no bound of the optimum is proven'}"
        if self.margin > 0:
            return f"margin {self.margin:.5g}, at most {self.upper_bound:.5g} is possible"
        return f"the classes are not separated; a margin of at most {self.upper_bound:.5g} is possible"

    @property
    def rescaled_primal(self):
        """Objective of the best multiple of `coef_`, `intercept_`, 1 / (2 margin^2): float."""
        return 0.5 / self.margin / self.margin if self.margin > 0 else math.inf

    def without_bound(self):
        """The certificate of the same model without a dual value: Certificate."""
        return self.from_bounds(self.primal, 0.0, self.n_updates, self.margin)

    @classmethod
    def from_bounds(cls, primal, dual, n_updates, margin=None):
        """The certificate of a primal and a dual objective.

        Parameters
        ----------
        primal, dual : float
        n_updates : int
        margin : float, optional
            Directional margin achieved; None: 1 / sqrt(2 primal), where no multiple is better.

        Returns
        -------
        Certificate
        """
        # Rounding can make the dual value exceed the primal one by some units in the last place.
        primal = float(primal)
        dual = min(float(dual), primal)
        if margin is None:
            margin = 1 / math.sqrt(2 * primal)
        upper_bound = max(1 / math.sqrt(2 * dual), margin) if dual > 0 else math.inf
        return cls(
            margin=margin,
            upper_bound=upper_bound,
            fraction=max(margin, 0.0) / upper_bound,
            primal=primal,
            dual=dual,
            gap=primal / dual - 1 if dual > 0 else math.inf,
            n_updates=n_updates,
        )
