"""Certificates: bounds of the optimum, proven by a weight vector and its dual variables.

With a = sum_k alpha_k y_k and every alpha_k >= 0 feasible, each loss (`margins.losses`) has a primal
objective for the weight vector and a dual objective for the alpha_k. The optimum lies between them, so
their difference bounds the error, at any time of any fit.

Bounds are computed in double precision. The bounds of a finished fit have a relative error of at most
1e-9: if rounding could make a larger difference, as with a large C |x|^2, the primal value is computed
from the rounded coefficients in twice the working precision (`margins.solvers.certification`). With a
kernel, the bounds hold for the kernel matrix as it was computed.

If the problem is to find a maximum margin gamma, the optimum is 1 / (2 gamma^2): a primal value gives
the margin achieved, 1 / sqrt(2 primal), and a dual value bounds the maximum margin from above by
1 / sqrt(2 dual) = |a| / sum_k alpha_k. If the intercept is penalised, these are margins of samples with
one more feature, whose weight is the intercept; if it is free, distances of samples from a hyperplane.

Source: Panagiotakopoulos & Tsampouka (2010), (13), (20), (24); (2011), (4) and section 2.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """Proven bounds of one binary problem, valid even without convergence.

    For the hinge loss, read `gap`: `margin`, `upper_bound` and `fraction` then only restate the two
    objectives.

    Attributes
    ----------
    margin : float
        Margin achieved, in the units of X. With a free intercept and C = inf it is the distance of the
        closest sample from the hyperplane. A penalised intercept counts as one more weight, which makes
        the margin smaller: `geometric_margin` of the classifier computes the distance. For C < inf it
        is the 2-norm soft margin, with every slack at its best. Negative if C = inf and the classes are
        not separated.
    upper_bound : float
        No weight vector has a larger margin.
    fraction : float in [0, 1]
        ``margin / upper_bound``: the proven share of the maximum margin.
    primal : float
        Objective at `coef_` and `intercept_`; inf if C = inf and a functional margin is below 1. It is
        not minimised by algorithms that do not choose the length of `coef_`: `rescaled_primal` is the
        objective at the best multiple.
    dual : float
        No weight vector has a smaller objective.
    gap : float in [0, inf]
        Relative duality gap, ``primal / dual - 1``.
    n_updates : int
        Updates of the run, counted with multiplicities.

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
        """Return the proven facts in one line."""
        if self.primal < math.inf:
            proven = f", at most {100 * self.gap:.2g} % above the optimum" if self.dual > 0 else ""
            return f"objective {self.primal:.5g}{proven or '; no bound of the optimum is proven'}"
        if self.margin > 0:
            return f"margin {self.margin:.5g}, at most {self.upper_bound:.5g} is possible"
        return f"the classes are not separated; a margin of at most {self.upper_bound:.5g} is possible"

    @property
    def rescaled_primal(self):
        """Objective at the best multiple of `coef_` and `intercept_`, 1 / (2 margin^2): float."""
        return 0.5 / self.margin / self.margin if self.margin > 0 else math.inf

    def without_bound(self):
        """Return the certificate of the same model without a dual value."""
        return self.from_bounds(self.primal, 0.0, self.n_updates, self.margin)

    @classmethod
    def from_bounds(cls, primal, dual, n_updates, margin=None):
        """Return the certificate of a primal and a dual objective.

        Parameters
        ----------
        primal, dual : float
        n_updates : int
        margin : float, optional
            Directional margin achieved; None: 1 / sqrt(2 primal), for weights at their best multiple.

        Returns
        -------
        Certificate
        """
        # Rounding can make the dual value exceed the primal value by a few units in the last place.
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
