"""Certificates: what a weight vector proves, over all patterns.

With a = sum_k alpha_k y_k and every alpha_k >= 0, each of the three problems below has a primal
objective, which the weight vector attains, and a dual one, which the alpha_k attain. The optimum lies
between them, so their distance is a proof, at any moment of any run.

    HardMargin     min |w|^2 / 2                                subject to w.y_k >= 1
    SquaredHinge   min |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)^2
    Hinge          min |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)

For the first two the optimum is 1 / (2 gamma^2), where gamma is the maximum margin: of the patterns,
or of the patterns extended by private coordinates Delta_k = 1 / sqrt(2 C_k). So a primal value is a
margin achieved, 1 / sqrt(2 primal), and a dual value bounds the maximum margin from above by
1 / sqrt(2 dual) = |a| / sum_k alpha_k.

Source: Panagiotakopoulos & Tsampouka (2010), (13), (20), (24); (2011), (4) and section 2.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from margins.data.binary_problem import of_each
from margins.losses._scaling import (
    hinge_minimum,
    largest_factor,
    squared_hinge_minimum,
    squared_hinge_sums,
)


@dataclass(frozen=True)
class Certificate:
    """What is proven about one binary problem. Every field is a bound, valid also without convergence.

    For the hinge loss `gap` is the field to read: `margin`, `upper_bound` and `fraction` then only
    restate the two objectives.

    Attributes
    ----------
    margin : float
        Directional margin achieved, in the units of X: the optimum of a unit weight vector is at
        least this. For C < inf it is measured in the extended space, each private coordinate at its
        best; negative if C = inf and the classes are not separated.
    upper_bound : float
        No weight vector has a larger margin.
    fraction : float in [0, 1]
        ``margin / upper_bound``: the proven share of the maximum margin.
    primal : float
        Objective of `coef_`, `intercept_` (with ``stop="clean-pass"`` and C < inf an upper bound of
        it); inf if C = inf and the classes are not separated.
    dual : float
        No weight vector has a smaller objective.
    gap : float in [0, inf]
        Relative duality gap, ``primal / dual - 1``.
    n_updates : int
        Updates of the run, multiplicities counted.
    """

    margin: float
    upper_bound: float
    fraction: float
    primal: float
    dual: float
    gap: float
    n_updates: int

    @classmethod
    def from_bounds(cls, primal, dual, n_updates, margin=None):
        """The certificate of a primal and a dual objective."""
        # At the optimum rounding can carry one past the other by some units in the last place.
        dual = min(dual, primal)
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

    def proves(self, eps, loss):
        """True if accuracy `eps` is proven: of the margin, or of the objective for the hinge loss."""
        return self.gap <= eps if loss == "hinge" else self.fraction >= 1 - eps


class Bounds(NamedTuple):
    """A primal and a dual value, and the factors by which a and alpha attain them."""

    primal: float
    dual: float
    primal_scale: float
    dual_scale: float
    margin: float | None = None


# What is proven of a hypothesis that is no hyperplane through the origin of the augmented space.
NOTHING = Bounds(math.inf, 0.0, 0.0, 0.0, -math.inf)


def _margin_bounds(products, sqnorm, weights):
    """Bounds of a maximum-margin problem.

    The primal one is that of any hyperplane, of squared norm `sqnorm` and with `products` over all
    patterns; the dual one is that of the dual variables of `weights`.
    """
    if sqnorm == 0 or weights.sqnorm == 0:
        return Bounds(math.inf, 0.0, 0.0, 0.0, 0.0 if sqnorm == 0 else -math.inf)
    smallest = float(products.min())
    dual_scale = weights.dual_sum / weights.sqnorm
    dual = 0.5 * weights.dual_sum * dual_scale
    margin = smallest / math.sqrt(sqnorm)
    if margin > 0:
        return Bounds(0.5 / margin / margin, dual, 1 / smallest, dual_scale, margin)
    return Bounds(math.inf, dual, dual_scale, dual_scale, margin)


class HardMargin:
    """Maximum margin: every pattern at functional margin 1 or more."""

    loss = "squared_hinge"
    extension = 0.0

    def gap_of(self, eps):
        """The relative duality gap that proves accuracy `eps`, of the margin here."""
        return 1 / (1 - eps) ** 2 - 1 if eps < 1 else math.inf

    def bounds(self, products, sqnorm, weights, refit_slacks=True):
        """See `SquaredHinge.bounds`."""
        return _margin_bounds(products, sqnorm, weights)


class SquaredHinge:
    """Maximum margin in the extended space; LinearSVC's default problem.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every pattern.
    """

    loss = "squared_hinge"

    def __init__(self, C):
        self.C = C
        self.extension = 1 / (2 * C)

    gap_of = HardMargin.gap_of

    def bounds(self, products, sqnorm, weights, refit_slacks=True):
        """The best objectives that the directions of w and alpha attain.

        Parameters
        ----------
        products : ndarray of float64, shape (m,)
            w.y_k, private coordinates left out.
        sqnorm : float
            |w|^2, private coordinates left out.
        weights : WeightVector
            For |a|^2 and the dual variables.
        refit_slacks : bool
            False: leave the private coordinates as the run has accumulated them, which gives the
            papers' directional margin min_k a.y_k / |a|.

        Returns
        -------
        Bounds
        """
        if not refit_slacks or weights.dual_sum == 0 or weights.sqnorm == 0:
            own = products + self.extension * weights.dual
            return _margin_bounds(own, weights.sqnorm, weights)
        dual_scale = weights.dual_sum / weights.sqnorm
        C = of_each(self.C, len(products))
        primal, scale, converged = squared_hinge_minimum(products, C, sqnorm, dual_scale)
        if not converged:
            # No worse than the run's own slacks, which a scale just above 1 / min_k a.y_k outdoes.
            smallest = float((products + self.extension * weights.dual).min())
            if smallest > 0:
                other = (1 + 1e-15) / smallest
                objective = 0.5 * other * other * sqnorm + squared_hinge_sums(products, C, other)[0]
                if objective < primal:
                    primal, scale = objective, other
        return Bounds(primal, 0.5 * weights.dual_sum * dual_scale, scale, dual_scale)


class Hinge:
    """The L1-SVM.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every pattern.
    """

    loss = "hinge"
    extension = 0.0

    def __init__(self, C):
        self.C = C

    def gap_of(self, eps):
        """The relative duality gap that proves accuracy `eps`: itself."""
        return eps

    def bounds(self, products, sqnorm, weights, refit_slacks=True):
        """See `SquaredHinge.bounds`; there are no private coordinates to refit."""
        C = of_each(self.C, len(products))
        total = weights.dual_sum
        if not math.isfinite(sqnorm + weights.sqnorm):
            return Bounds(float(C.sum()), 0.0, 0.0, 0.0)  # too long for double arithmetic: w = 0 is not
        most = largest_factor(weights.dual, C)
        dual_scale = min(total / weights.sqnorm if weights.sqnorm > 0 else math.inf, most)
        if not math.isfinite(dual_scale):
            dual_scale = 0.0
        dual = dual_scale * total - 0.5 * dual_scale**2 * weights.sqnorm
        best, best_scale = hinge_minimum(products, C, sqnorm, dual_scale, dual)
        return Bounds(best, dual, best_scale, dual_scale)
