"""The interface of losses, and everything that follows from it alone.

The problem: with the weight vector w (bias included) and samples y_k = l_k [x_k, rho],

    primal   min   |w|^2 / 2 + sum_k h_k(w.y_k)
    dual     max   sum_k alpha_k - |a|^2 / 2 - sum_k D_k alpha_k^2 / 2,   0 <= alpha_k <= U_k

where a = sum_k alpha_k y_k. As in LIBLINEAR, losses differ in two numbers for each sample: the diagonal
D_k that its variable adds to the quadratic form, and the upper bound U_k of its dual variable.

    loss             h(p)                       D          U
    hard margin      inf if p < 1, else 0       0          inf
    squared hinge    C max(0, 1 - p)^2          1 / (2 C)  inf
    hinge            C max(0, 1 - p)            0          C

To add a loss, write a subclass of `Loss` with these two numbers and `value`.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from margins.data.binary_data import of_each, sum_of_each, sums_of_classes
from margins.losses._scaling import (
    hinge_minimum,
    largest_factor,
    squared_hinge_minimum,
    squared_hinge_sums,
)


class Bounds(NamedTuple):
    """Primal and dual value, and the factors of w and alpha that attain them.

    Attributes
    ----------
    primal, dual : float
    primal_scale, dual_scale : float
    margin : float or None
        Directional margin achieved; None: 1 / sqrt(2 primal).

    See Also
    --------
    margins.certificate.Certificate : The certificate computed from both values.

    Examples
    --------
    >>> Bounds(primal=2.0, dual=1.5, primal_scale=1.0, dual_scale=0.5).margin is None
    True
    """

    primal: float
    dual: float
    primal_scale: float
    dual_scale: float
    margin: float | None = None

    def at_scale(self, scale, loss, products, sqnorm):
        """Return the same bounds, with the primal value of a given multiple of w instead of the best."""
        with np.errstate(over="ignore"):
            return self.with_primal(0.5 * scale * scale * sqnorm + loss.value(scale * products))

    def with_primal(self, primal):
        """Return the same bounds and margin with another primal value (Bounds)."""
        margin = 1 / math.sqrt(2 * self.primal) if self.margin is None else self.margin
        return self._replace(primal=primal, margin=margin)


# Products below this share of the largest product may be rounding errors.
ROUNDING = 1e-15

# The bounds of a hypothesis that is not a hyperplane through the origin of the augmented space.
NOTHING = Bounds(math.inf, 0.0, 0.0, 0.0, -math.inf)


class Loss(ABC):
    """Loss over all samples of a binary problem.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample.

    Attributes
    ----------
    name : str
        Name in the parameter `loss` of estimators.
    diag : float or ndarray of float64, shape (m,)
        D_k >= 0.
    upper : float or ndarray of float64, shape (m,)
        U_k > 0; inf: no upper bound.

    See Also
    --------
    HardMargin, SquaredHinge, Hinge : The losses of this package.

    Examples
    --------
    A loss defines its value, its diagonal and its upper bounds. Here is the hinge loss:

    >>> import numpy as np
    >>> class MyHinge(Loss):
    ...     name = "my_hinge"
    ...
    ...     def __init__(self, C):
    ...         super().__init__(C)
    ...         self.upper = C
    ...
    ...     def value(self, margins):
    ...         return float(np.sum(self.C * np.maximum(1 - margins, 0)))
    >>> loss = MyHinge(C=1.0)
    >>> loss.has_upper_bounds, loss.is_smooth, loss.value(np.array([0.5, 3.0]))
    (True, False, 0.5)
    """

    name: ClassVar[str]
    diag: float | np.ndarray = 0.0
    upper: float | np.ndarray = math.inf

    def __init__(self, C):
        self.C = C

    # False: the objective is infinite if a sample is misclassified (the hard margin).
    is_finite: ClassVar[bool] = True

    @property
    def has_upper_bounds(self):
        """True if dual variables are bounded from above."""
        return bool(np.isfinite(np.min(self.upper)))

    @property
    def is_smooth(self):
        """True if the loss has a derivative everywhere, that is, if every D_k is positive."""
        return bool(np.min(self.diag) > 0)

    @abstractmethod
    def value(self, margins):
        """Return the sum of the losses of all samples (float).

        Parameters
        ----------
        margins : ndarray of float64, shape (m,)
            w.y_k.
        """

    def value_of_slacks(self, slacks):
        """Return the sum of the losses from ``1 - w.y_k``, with digits that w.y_k may have lost."""
        return self.value(1 - slacks)

    def objective(self, slacks, sqnorm):
        """Return the primal objective of a weight vector, or of a feasible multiple of it.

        Parameters
        ----------
        slacks : ndarray of float64, shape (m,)
            1 - w.y_k.
        sqnorm : float
            |w|^2, bias included.

        Returns
        -------
        primal : float
        margin : float or None
            Directional margin; None: 1 / sqrt(2 primal).
        multiple : float
            Factor of the weight vector that attains this objective.
        """
        return 0.5 * sqnorm + self.value_of_slacks(slacks), None, 1.0

    def best_intercept(self, scores, signs):
        """Return the intercept b (float) with the least sum of the losses at ``l_k (scores_k + b)``.

        Parameters
        ----------
        scores : ndarray of float64, shape (m,)
            Scores without the intercept.
        signs : ndarray of float64, shape (m,)
            The labels, with at least one -1 and one +1.
        """
        points = signs - scores  # the intercepts at which each margin is 1
        best = _minimum(lambda b: self.value(signs * (scores + b)), points.min(), points.max())
        return float(best.x)

    def constant_objective(self, signs, sq_intercept_scaling, l1=0.0):
        """Return the objective (float) of the best constant classifier, w = 0 with the best intercept.

        Parameters
        ----------
        signs : ndarray, shape (m,)
            The labels.
        sq_intercept_scaling : float
            Square of the constant feature of the intercept; 0: no intercept; inf: a free one.
        l1 : float
            Penalty of the absolute value of the intercept, too.
        """
        if not sq_intercept_scaling > 0:
            return self.value(np.zeros(len(signs)))

        def objective(b):
            return 0.5 * b * b / sq_intercept_scaling + l1 * abs(b) + self.value(b * signs)

        return float(_minimum(objective, -1.0, 1.0).fun)

    def gap_of_samples(self, slacks, dual):
        """Return the sum of h_k - alpha_k s_k + D_k alpha_k^2 / 2 >= 0, which is 0 at the optimum.

        Parameters
        ----------
        slacks : ndarray of float64, shape (m,)
            s_k = 1 - w.y_k.
        dual : ndarray of float64, shape (m,)
            Feasible dual variables alpha_k.
        """
        losses = self.value_of_slacks(slacks)
        gap = losses - float(dual @ (slacks - 0.5 * self.diag * dual))
        return max(gap, 1e-15 * losses)  # rounding of the difference

    def max_sensitivity(self, n_samples, error, primal):
        """Return an upper bound of `sensitivity` if w.y_k change by at most `error`; inf: unknown."""
        return math.inf

    def sensitivity(self, margins, errors, primal):
        """Return the change of the objective, relative to `primal`, if each w.y_k changes by `errors`.

        Parameters
        ----------
        margins, errors : ndarrays of float64, shape (m,)
        primal : float
        """
        return (self.value(margins - errors) - self.value(margins + errors)) / primal

    def required_gap(self, eps):
        """Return the relative duality gap that proves accuracy `eps`."""
        return eps

    def is_proven(self, certificate, eps):
        """Return whether a certificate proves accuracy `eps`, here of the objective."""
        return certificate.gap <= eps

    def describe(self, certificate):
        """Return a sentence on what a certificate proves (str)."""
        return f"The relative duality gap reached is {certificate.gap:.3g}."

    def bounds(self, products, sqnorm, weights):
        """Return the best objectives that the directions of w and alpha attain (Bounds).

        Parameters
        ----------
        products : ndarray of float64, shape (m,)
            w.y_k.
        sqnorm : float
            |w|^2, bias included.
        weights : margins._update.WeightVector
            Provides the dual variables, their sum, and |a|^2 + sum_k D_k alpha_k^2.
        """
        dual, dual_scale = self._dual_bound(weights, of_each(self.upper, len(products)))
        if not math.isfinite(sqnorm):
            return Bounds(self.value(np.zeros(len(products))), dual, 0.0, dual_scale)

        def objective(scale):
            return 0.5 * scale * scale * sqnorm + self.value(scale * products)

        best = _minimum(objective, 0.0, 2 * dual_scale if dual_scale > 0 else 1.0)
        scale = min({0.0, 1.0, dual_scale, float(best.x)}, key=objective)
        return Bounds(objective(scale), dual, scale, dual_scale)

    def _dual_bound(self, weights, upper):
        """Return the best dual value of feasible multiples of the dual variables, and this multiple."""
        dual_sum, sqnorm = weights.dual_sum, weights.sqnorm
        scale = dual_sum / sqnorm if sqnorm > 0 else math.inf
        if self.has_upper_bounds:
            scale = min(scale, largest_factor(weights.dual, upper))
        if not math.isfinite(scale):
            return 0.0, 0.0
        return scale * dual_sum - 0.5 * scale**2 * sqnorm, scale


def _minimum(function, low, high):
    """Return SciPy's minimum of a function of one variable between two ends."""
    from scipy.optimize import minimize_scalar  # the import takes longer than many fits

    return minimize_scalar(function, bounds=(low, high), method="bounded")


class MaximumMarginLoss(Loss):
    """Loss whose optimum is 1 / (2 gamma^2), where gamma is the maximum margin.

    Accuracy refers to the margin; with a soft margin, to the margin that includes the slack terms.

    See Also
    --------
    HardMargin, SquaredHinge : The losses of this package with a maximum margin.

    Examples
    --------
    >>> from margins.losses import HardMargin
    >>> HardMargin().required_gap(0.5)  # inherited
    3.0
    """

    def required_gap(self, eps):
        """Return the relative duality gap that proves ``margin >= (1 - eps) * maximum margin``."""
        return 1 / (1 - eps) ** 2 - 1 if eps < 1 else math.inf

    def is_proven(self, certificate, eps):
        """Return whether the margin achieved is at least ``1 - eps`` of the maximum margin."""
        return certificate.fraction >= 1 - eps

    def describe(self, certificate):
        return (
            f"Proven: margin {certificate.margin:.6g}, at most {certificate.upper_bound:.6g} possible "
            f"(fraction {certificate.fraction:.4g}, relative duality gap {certificate.gap:.3g})."
        )


def margin_bounds(products, sqnorm, weights):
    """Return the bounds of a maximum-margin problem with functional margins `products` (Bounds)."""
    if weights.sqnorm == 0:
        return Bounds(math.inf, 0.0, 0.0, 0.0, 0.0 if sqnorm == 0 else -math.inf)
    dual_scale = weights.dual_sum / weights.sqnorm
    dual = 0.5 * weights.dual_sum * dual_scale
    if sqnorm == 0:
        return Bounds(math.inf, dual, 0.0, dual_scale, 0.0)
    smallest = float(products.min())
    margin = smallest / math.sqrt(sqnorm)
    # A product that is 0 except for rounding of larger products does not separate the classes.
    if margin > 0 and smallest > ROUNDING * float(products.max()):
        return Bounds(0.5 / margin / margin, dual, 1 / smallest, dual_scale, margin)
    return Bounds(math.inf, dual, dual_scale, dual_scale, min(margin, 0.0))


class HardMargin(MaximumMarginLoss):
    """Hard margin: ``min |w|^2 / 2`` subject to ``w.y_k >= 1``.

    See Also
    --------
    SquaredHinge, Hinge : Losses that allow margin errors.

    Examples
    --------
    >>> import numpy as np
    >>> HardMargin().value(np.array([1.0, 2.5]))
    0.0

    **Source**: Panagiotakopoulos & Tsampouka (2010), (13); (2011), (4).
    """

    name = "squared_hinge"
    is_finite = False
    has_upper_bounds = False
    is_smooth = False

    def __init__(self):
        super().__init__(math.inf)

    def value(self, margins):
        """Return 0 if every functional margin is at least 1, otherwise inf."""
        return 0.0 if np.min(margins) >= 1 else math.inf

    def objective(self, slacks, sqnorm):
        """See `Loss.objective`; the multiple has a smallest functional margin of 1."""
        smallest = 1 - float(slacks.max())
        if sqnorm == 0:  # the dual variables cancel: w is not a hyperplane
            return math.inf, 0.0, 1.0
        margin = smallest / math.sqrt(sqnorm)
        if margin <= 0:
            return math.inf, margin, 1.0
        return 0.5 / margin / margin, margin, 1 / smallest

    def best_intercept(self, scores, signs):
        """See `Loss.best_intercept`; both classes then have equal smallest margins."""
        return -0.5 * float(scores[signs > 0].min() + scores[signs < 0].max())

    def constant_objective(self, signs, sq_intercept_scaling, l1=0.0):
        """See `Loss.constant_objective`; no constant classifier separates the classes."""
        return math.inf

    def max_sensitivity(self, n_samples, error, primal):
        """See `Loss.max_sensitivity`; the smallest w.y_k is 1."""
        return 8 * error

    def sensitivity(self, margins, errors, primal):
        change = np.min(margins + errors) - np.min(margins - errors)
        return 2 * float(change) / float(margins.min())

    def bounds(self, products, sqnorm, weights):
        """See `Loss.bounds`; if a is 0 except for rounding, no margin exceeds this rounding."""
        bounds = margin_bounds(products, sqnorm, weights)
        if weights.sqnorm == 0 and weights.dual_sum > 0:
            return bounds._replace(dual=math.inf, dual_scale=math.inf)
        return bounds


class SquaredHinge(MaximumMarginLoss):
    """Squared hinge loss: ``min |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)^2``.

    It is the 2-norm soft margin, with D_k = 1 / (2 C_k), the Delta_k^2 of the papers.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample; samples of penalty 0 are left out.

    See Also
    --------
    Hinge : The L1-SVM.
    HardMargin : The limit of large C.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge(C=2.0).value(np.array([0.5, 3.0]))
    0.5

    **Source**: Panagiotakopoulos & Tsampouka (2010), (20), (24); (2011), section 2.
    """

    name = "squared_hinge"
    has_upper_bounds = False
    is_smooth = True

    def __init__(self, C):
        super().__init__(C)
        if isinstance(C, np.ndarray) and not C.all():  # dual variable 0, with any diagonal
            C, self.upper = np.where(C == 0, 1.0, C), np.where(C == 0, 0.0, np.inf)
        self.diag = 1 / (2 * C)

    def value(self, margins):
        """Return the sum of C_k max(0, 1 - w.y_k)^2."""
        return self.value_of_slacks(1 - margins)

    def value_of_slacks(self, slacks):
        return float(np.sum(self.C * np.maximum(slacks, 0) ** 2))

    def best_intercept(self, scores, signs):
        """See `Loss.best_intercept`; it is a weighted mean over all samples with a loss."""
        points = signs - scores
        order = np.argsort(points)
        t, C = points[order], of_each(self.C, len(points))[order]
        # If b is between t[k - 1] and t[k], the positive samples from k on and the negative samples
        # before k have a loss.
        positive, negative = np.where(signs[order] > 0, C, 0.0), np.where(signs[order] > 0, 0.0, C)
        weight = _sums_from(positive) + _sums_before(negative)
        moment = _sums_from(positive * t) + _sums_before(negative * t)
        # Half of the slope at t[k] is t[k] weight - moment, which ascends.
        k = int(np.searchsorted(t * weight[:-1] - moment[:-1], 0.0))
        return float(moment[k] / weight[k] if weight[k] > 0 else 0.5 * (t[k - 1] + t[k]))

    def constant_objective(self, signs, sq_intercept_scaling, l1=0.0):
        positive, negative = sums_of_classes(self.C, signs)
        total = positive + negative
        if sq_intercept_scaling == 0:
            return total
        penalty = 0.5 / sq_intercept_scaling
        if l1 > 0:
            excess = max(abs(positive - negative) - 0.5 * l1, 0.0)
            return total - excess * excess / (total + penalty)
        return (4 * positive * negative + penalty * total) / (total + penalty)

    def gap_of_samples(self, slacks, dual):
        violations = slacks - self.diag * dual
        losses, others = self.C * violations * violations, -dual * (slacks + violations) / 2
        return float(np.sum(np.where(slacks > 0, losses, others)))

    def max_sensitivity(self, n_samples, error, primal):
        """See `Loss.max_sensitivity`; it uses Cauchy-Schwarz, and sum C s^2 <= `primal`."""
        share = math.sqrt(sum_of_each(self.C, n_samples) / primal) * error
        return 4 * share + 2 * share * share

    def bounds(self, products, sqnorm, weights):
        """See `Loss.bounds`; the slacks are optimal for w, and not taken from the dual variables."""
        C, has_dual = of_each(self.C, len(products)), weights.sqnorm > 0
        if not has_dual and sqnorm == 0:
            return Bounds(float(C.sum()), 0.0, 0.0, 0.0)
        dual_scale = weights.dual_sum / weights.sqnorm if has_dual else 1.0
        primal, scale, converged = squared_hinge_minimum(products, C, sqnorm, dual_scale)
        if not has_dual:
            return Bounds(primal, 0.0, scale, 0.0)
        if not converged:
            # Try the slacks of the dual variables, too, at a scale just above 1 / min_k a.y_k.
            smallest = float((products + self.diag * weights.dual).min())
            if smallest > 0:
                dual_slack_scale = (1 + 1e-15) / smallest
                losses = squared_hinge_sums(products, C, dual_slack_scale)[0]
                objective = 0.5 * dual_slack_scale * dual_slack_scale * sqnorm + losses
                if objective < primal:
                    primal, scale = objective, dual_slack_scale
        return Bounds(primal, 0.5 * weights.dual_sum * dual_scale, scale, dual_scale)


def _sums_from(values):
    """Return the sums of values[k:], for k = 0, ..., n (ndarray, shape (n + 1,))."""
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)


def _sums_before(values):
    """Return the sums of values[:k], for k = 0, ..., n (ndarray, shape (n + 1,))."""
    return np.append(0.0, np.cumsum(values))


# A slope below this share of the penalties is 0 except for rounding.
FLAT = 1e-12


class Hinge(Loss):
    """Hinge loss: ``min |w|^2 / 2 + sum_k C_k max(0, 1 - w.y_k)``.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample, the upper bound of its dual variable.

    See Also
    --------
    SquaredHinge : The 2-norm soft margin.
    HardMargin : The limit of large C.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge(C=2.0).value(np.array([0.5, 3.0]))
    1.0

    **Source**: Panagiotakopoulos & Tsampouka (2010), section 4, (22)-(24).
    """

    name = "hinge"
    has_upper_bounds = True
    is_smooth = False

    def __init__(self, C):
        super().__init__(C)
        self.upper = C

    def value(self, margins):
        """Return the sum of C_k max(0, 1 - w.y_k)."""
        return self.value_of_slacks(1 - margins)

    def value_of_slacks(self, slacks):
        return float(np.sum(self.C * np.maximum(slacks, 0)))

    def best_intercept(self, scores, signs):
        """See `Loss.best_intercept`; it is a weighted quantile of the intercepts with margins of 1."""
        points = signs - scores
        n_positive = int(np.count_nonzero(signs > 0))
        if not isinstance(self.C, np.ndarray) and 0 < n_positive < len(points):
            # Each point raises the slope by C, so the slope is 0 between these two points.
            points = np.partition(points, (n_positive - 1, n_positive))
            return float(0.5 * (points[n_positive - 1] + points[n_positive]))
        order = np.argsort(points)
        # Each point raises the slope, which starts at minus the sum of C over the positive class.
        C = of_each(self.C, len(points))
        total = np.cumsum(C[order])
        share = float(C[signs > 0].sum())
        # The points between which the slope is 0, or the same point twice.
        ends = np.searchsorted(total, (share * (1 - FLAT), share * (1 + FLAT)))
        low, high = points[order[np.minimum(ends, len(points) - 1)]]
        return float(0.5 * (low + high))

    def constant_objective(self, signs, sq_intercept_scaling, l1=0.0):
        positive, negative = sums_of_classes(self.C, signs)
        total, excess = positive + negative, max(abs(positive - negative) - l1, 0.0)
        if sq_intercept_scaling * excess <= 1:  # the size of the best intercept
            return total - 0.5 * sq_intercept_scaling * excess * excess
        return total - excess + 0.5 / sq_intercept_scaling

    def gap_of_samples(self, slacks, dual):
        return float(np.sum(np.abs(slacks) * np.where(slacks > 0, self.C - dual, dual)))

    def max_sensitivity(self, n_samples, error, primal):
        return 2 * sum_of_each(self.C, n_samples) * error / primal

    def bounds(self, products, sqnorm, weights):
        C = of_each(self.C, len(products))
        if not math.isfinite(sqnorm + weights.sqnorm):
            return Bounds(float(C.sum()), 0.0, 0.0, 0.0)  # overflow: use the bounds of w = 0
        dual, dual_scale = self._dual_bound(weights, C)
        best, best_scale = hinge_minimum(products, C, sqnorm, dual_scale, dual)
        return Bounds(best, dual, best_scale, dual_scale)
