"""Certificates: bounds of the optimum, proven by a weight vector and its dual variables.

With a = sum_k alpha_k y_k and every alpha_k >= 0 feasible, each loss (`margins.losses`) has a primal
objective for the weight vector and a dual objective for the alpha_k. The optimum lies between them, so
their difference bounds the error, at any time of any fit.

Bounds are computed in double precision. The bounds of a finished fit have a relative error of at most
1e-9: if rounding could make a larger difference, as with a large C |x|^2, the primal value is computed
from the rounded coefficients in twice the working precision (`margins.solvers.proof`). With a
kernel, the bounds hold for the kernel matrix as it was computed.

If the problem is to find a maximum margin gamma, the optimum is 1 / (2 gamma^2): a primal value gives
the margin achieved, 1 / sqrt(2 primal), and a dual value bounds the maximum margin from above by
1 / sqrt(2 dual) = |a| / sum_k alpha_k. If the intercept is penalised, these are margins of samples with
one more feature, whose weight is the intercept; if it is free, distances of samples from a hyperplane.

Source: Panagiotakopoulos & Tsampouka (2010), (13), (20), (24); (2011), (4) and section 2.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

# Primal and dual values have at most this relative error; see `margins.solvers.proof`.
ACCURACY = 1e-9
# No relative gap below this can be computed.
SMALLEST = 1e-16


@dataclass(frozen=True)
class Certificate:
    """Proven bounds of one binary problem, valid even without convergence.

    For the hinge loss and for penalties other than 'l2', read `gap`: `margin`, `upper_bound` and
    `fraction` then only restate the two objectives.

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
    improvement : float in [0, 1]
        The proven share of the possible improvement over the best constant classifier, w = 0 with the
        best intercept: ``(P0 - primal) / (P0 - dual)`` with its objective P0. It is 0 if nothing is
        proven, and 1 if a constant classifier is optimal. If C |x|^2 is small, every classifier has a
        small `gap`, and this tells whether the model is any good. With C = inf it is 1 if the classes
        are separated.

    Examples
    --------
    >>> certificate = Certificate.from_bounds(primal=2.0, dual=1.9, n_updates=7, improvement=0.8)
    >>> certificate.margin, round(certificate.fraction, 3), round(certificate.gap, 3)
    (0.5, 0.975, 0.053)
    >>> certificate.rescaled_primal
    2.0
    >>> print(certificate)
    objective 2, at most 5.3 % above the optimum; at least 80 % of the possible improvement
    """

    margin: float
    upper_bound: float
    fraction: float
    primal: float
    dual: float
    gap: float
    n_updates: int
    improvement: float = 0.0

    def __str__(self):
        """Return the proven facts in one line."""
        if self.primal < math.inf:
            if not self.dual > 0 and self.primal > 0:
                return f"objective {self.primal:.5g}; no bound of the optimum is proven"
            line = f"objective {self.primal:.5g}, at most {100 * self.gap:.2g} % above the optimum"
            if 1 - self.improvement <= self.gap:  # the stronger statement
                return line
            share = math.floor(100 * self.improvement)
            return f"{line}; at least {share} % of the possible improvement"
        if self.margin > 0:
            return f"margin {self.margin:.5g}, at most {self.upper_bound:.5g} is possible"
        return f"the classes are not separated; a margin of at most {self.upper_bound:.5g} is possible"

    @property
    def rescaled_primal(self):
        """Objective at the best multiple of `coef_` and `intercept_`, 1 / (2 margin^2): float."""
        return 0.5 / self.margin / self.margin if self.margin > 0 else math.inf

    def without_bound(self):
        """Return the certificate of the same model without a dual value."""
        return self.from_bounds(self.primal, 0.0, self.n_updates, self.margin, 0.0)

    @classmethod
    def from_bounds(cls, primal, dual, n_updates, margin=None, improvement=0.0):
        """Return the certificate of a primal and a dual objective.

        Parameters
        ----------
        primal, dual : float
        n_updates : int
        margin : float, optional
            Directional margin achieved; None: 1 / sqrt(2 primal), for weights at their best multiple.
        improvement : float, optional

        Returns
        -------
        Certificate
        """
        # Rounding can make the dual value exceed the primal value by a few units in the last place.
        primal = float(primal)
        if primal == 0:  # the centre of a prior, without a loss: no objective is smaller
            return cls(math.inf, math.inf, 1.0, 0.0, 0.0, 0.0, n_updates, 1.0)
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
            improvement=improvement,
        )


def features_sqnorm(hypothesis, data):
    """Return |w|^2 over the features, without a penalised intercept (float)."""
    sqnorm = hypothesis.ordinary_sqnorm(data)
    if not data.has_free_intercept:
        sqnorm -= data.sq_intercept_scaling * hypothesis.label_sum**2
    return max(sqnorm, 0.0)


class Standing(NamedTuple):
    """What is known of a model besides its objective P and the bound D, to prove its improvement.

    Its share of the possible improvement over the best constant classifier, with objective P0, is

        (P0 - P) / (P0 - D) = 1 - (P - D) / (P0 - D),

    where P0 - D is at least |w*|^2 / 2 for the optimum w*: minimised over the intercept, the objective
    minus |w|^2 / 2 is convex in the weights of the features. And |w*| >= |w| - sqrt(2 (P - D)). With
    a penalty, the squared distance of each weight from the constant classifier's counts times its ridge.

    **Source**: Moré & Wild (2009), Benchmarking derivative-free optimization algorithms, (2.2), with a
    proven lower bound instead of the best known value.
    """

    constant: float  # Objective of the best constant classifier
    length: float  # |w| over the features, as a penalty measures it
    # Accurate upper bound of P - D with the dual variables of the model; inf: not computed.
    accurate_gap: float = math.inf

    def raised(self, change):
        """Return the standing with a primal value that rounding has changed (Standing)."""
        if self.accurate_gap == 0:  # the constant classifier is optimal
            return self
        return self._replace(accurate_gap=self.accurate_gap + max(change, 0.0))

    def _differences(self, primal, dual):
        """Return an upper bound of P - D and a lower bound of P0 - D, the possible improvement."""
        rounding = ACCURACY * self.constant
        gap = min(max(primal - dual, 0.0) + rounding, self.accurate_gap)
        least = self.length - math.sqrt(2 * gap)
        possible = self.constant - dual - rounding
        return gap, max(possible, 0.5 * least * least) if least > 0 else possible

    def required_gap(self, share, primal, dual):
        """Estimate the relative duality gap that proves a share of the possible improvement (float)."""
        _, possible = self._differences(primal, dual)
        possible = max(possible, self.constant - dual, SMALLEST * dual)
        return (1 - share) * possible / dual

    def improvement(self, primal, dual):
        """Return the proven share of the possible improvement, at least 0 (float)."""
        if math.isinf(self.constant):
            return float(primal < math.inf)
        gap, possible = self._differences(primal, dual)
        if gap == 0:
            return 1.0
        return 1 - gap / possible if possible > gap else 0.0
