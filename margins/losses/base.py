"""The interface of losses, and what follows from it alone.

The problem: with the weight vector w (bias included) and samples y_k = l_k [x_k, rho],

    primal   min   |w|^2 / 2 + sum_k h_k(w.y_k)
    dual     max   sum_k alpha_k - |a|^2 / 2 - sum_k D_k alpha_k^2 / 2,   0 <= alpha_k <= U_k

where a = sum_k alpha_k y_k. As in LIBLINEAR, losses differ in two numbers of a sample: the diagonal D_k
that its own variable adds to the quadratic form, and the upper bound U_k of its dual variable.

    loss             h(p)                       D          U
    hard margin      inf where p < 1            0          inf
    squared hinge    C max(0, 1 - p)^2          1 / (2 C)  inf
    hinge            C max(0, 1 - p)            0          C

A new loss is a subclass of `Loss`: these two numbers and `value`.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from margins.data.binary_data import of_each
from margins.losses._scaling import largest_factor


class Bounds(NamedTuple):
    """A primal and a dual value, and the factors by which w and alpha attain them.

    Attributes
    ----------
    primal, dual : float
    primal_scale, dual_scale : float
    margin : float or None
        Directional margin achieved; None: 1 / sqrt(2 primal).

    See Also
    --------
    margins.certificate.Certificate : The certificate computed from the two values.

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
        """The same bounds, with the primal value of one multiple of w in place of the best.

        Parameters
        ----------
        scale : float
            The multiple.
        loss : Loss
        products : ndarray of float64, shape (m,)
            w.y_k.
        sqnorm : float
            |w|^2, bias included.

        Returns
        -------
        Bounds
            `primal_scale` and `margin` are still those of the best multiple.
        """
        with np.errstate(over="ignore"):
            return self.with_primal(0.5 * scale * scale * sqnorm + loss.value(scale * products))

    def with_primal(self, primal):
        """The same bounds and margin, with another primal value: Bounds."""
        margin = 1 / math.sqrt(2 * self.primal) if self.margin is None else self.margin
        return self._replace(primal=primal, margin=margin)


# Products below this share of the largest one may be rounding.
ROUNDING = 1e-15

# The bounds of a hypothesis that is no hyperplane through the origin of the augmented space.
NOTHING = Bounds(math.inf, 0.0, 0.0, 0.0, -math.inf)


class Loss(ABC):
    """A loss over all samples of a binary problem.

    Parameters
    ----------
    C : float or ndarray of float64, shape (m,)
        Penalty of every sample.

    Attributes
    ----------
    name : str
        As the parameter `loss` of estimators gives it.
    diag : float or ndarray of float64, shape (m,)
        D_k >= 0.
    upper : float or ndarray of float64, shape (m,)
        U_k > 0; inf: no upper bound.

    See Also
    --------
    HardMargin, SquaredHinge, Hinge : The losses of this package.

    Examples
    --------
    A loss is its value, its diagonal and its upper bounds; here the hinge loss:

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
    >>> loss.has_upper_bounds, loss.is_smooth, loss.required_gap(0.01)
    (True, False, 0.01)
    """

    name: ClassVar[str]
    diag: float | np.ndarray = 0.0
    upper: float | np.ndarray = math.inf

    def __init__(self, C):
        self.C = C

    # False: no objective is finite where a sample is misclassified (the hard margin).
    is_finite: ClassVar[bool] = True

    @property
    def has_upper_bounds(self):
        """True if dual variables are bounded from above."""
        return bool(np.isfinite(np.min(self.upper)))

    @property
    def is_smooth(self):
        """True if the loss has a derivative everywhere: if every D_k is positive."""
        return bool(np.min(self.diag) > 0)

    @abstractmethod
    def value(self, margins):
        """The sum of the losses of all samples.

        Parameters
        ----------
        margins : ndarray of float64, shape (m,)
            w.y_k.

        Returns
        -------
        float
        """

    def value_of_slacks(self, slacks):
        """The sum of the losses, given ``1 - w.y_k`` with the digits that w.y_k may have lost."""
        return self.value(1 - slacks)

    def objective(self, slacks, sqnorm):
        """The primal objective of a weight vector, or of a multiple of it that is feasible.

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
            By which the weight vector is to be multiplied to attain it.
        """
        return 0.5 * sqnorm + self.value_of_slacks(slacks), None, 1.0

    def best_intercept(self, scores, signs):
        """The intercept b that minimises the sum of the losses at ``l_k (scores_k + b)``.

        Parameters
        ----------
        scores : ndarray of float64, shape (m,)
            Without intercept.
        signs : ndarray of float64, shape (m,)
            The labels, -1 and +1, both of them.

        Returns
        -------
        float
        """
        from scipy.optimize import minimize_scalar  # takes longer than many fits

        points = signs - scores  # where each margin is 1
        best = minimize_scalar(
            lambda b: self.value(signs * (scores + b)),
            bounds=(points.min(), points.max()),
            method="bounded",
        )
        return float(best.x)

    def max_sensitivity(self, n_samples, error, primal):
        """An upper bound of `sensitivity`, if no w.y_k changes by more than `error`; inf: unknown."""
        return math.inf

    def sensitivity(self, margins, errors, primal):
        """By what share of `primal` the objective may change if each w.y_k changes by `errors`.

        Parameters
        ----------
        margins, errors : ndarrays of float64, shape (m,)
        primal : float

        Returns
        -------
        float
        """
        return (self.value(margins - errors) - self.value(margins + errors)) / primal

    def required_gap(self, eps):
        """The relative duality gap that proves accuracy `eps`."""
        return eps

    def is_proven(self, certificate, eps):
        """True if a certificate proves accuracy `eps`: here, of the objective."""
        return certificate.gap <= eps

    def describe(self, certificate):
        """What a certificate proves, in a sentence: str."""
        return f"The relative duality gap reached is {certificate.gap:.3g}."

    def bounds(self, products, sqnorm, weights):
        """The best objectives that the directions of w and alpha attain.

        Parameters
        ----------
        products : ndarray of float64, shape (m,)
            w.y_k.
        sqnorm : float
            |w|^2, bias included.
        weights : margins._update.WeightVector
            For the dual variables, their sum, and |a|^2 + sum_k D_k alpha_k^2.

        Returns
        -------
        Bounds
        """
        dual, dual_scale = self._dual_bound(weights, of_each(self.upper, len(products)))
        if not math.isfinite(sqnorm):
            return Bounds(self.value(np.zeros(len(products))), dual, 0.0, dual_scale)

        from scipy.optimize import minimize_scalar

        def objective(scale):
            return 0.5 * scale * scale * sqnorm + self.value(scale * products)

        best = minimize_scalar(
            objective, bounds=(0.0, 2 * dual_scale if dual_scale > 0 else 1.0), method="bounded"
        )
        candidates = {0.0, 1.0, dual_scale, float(best.x)}
        scale = min(candidates, key=objective)
        return Bounds(objective(scale), dual, scale, dual_scale)

    def _dual_bound(self, weights, upper):
        """The best dual value of feasible multiples of the dual variables, and the multiple."""
        dual_sum, sqnorm = weights.dual_sum, weights.sqnorm
        scale = dual_sum / sqnorm if sqnorm > 0 else math.inf
        if self.has_upper_bounds:
            scale = min(scale, largest_factor(weights.dual, upper))
        if not math.isfinite(scale):
            return 0.0, 0.0
        return scale * dual_sum - 0.5 * scale**2 * sqnorm, scale


class MaximumMarginLoss(Loss):
    """A loss whose problem is that of the maximum margin: 1 / (2 gamma^2) is the optimum.

    Accuracy is that of the margin; with a soft margin, of the one that includes the slack terms.

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
        """The relative duality gap that proves ``margin >= (1 - eps) * maximum margin``."""
        return 1 / (1 - eps) ** 2 - 1 if eps < 1 else math.inf

    def is_proven(self, certificate, eps):
        """True if the margin achieved is at least ``1 - eps`` of the maximum margin."""
        return certificate.fraction >= 1 - eps

    def describe(self, certificate):
        """See `Loss.describe`."""
        return (
            f"Proven: margin {certificate.margin:.6g}, at most {certificate.upper_bound:.6g} possible "
            f"(fraction {certificate.fraction:.4g}, relative duality gap {certificate.gap:.3g})."
        )


def margin_bounds(products, sqnorm, weights):
    """Bounds of a maximum-margin problem whose samples have functional margins `products`: Bounds.

    Parameters
    ----------
    products : ndarray of float64, shape (m,)
    sqnorm : float
        |w|^2 of the same space.
    weights : margins._update.WeightVector
    """
    if weights.sqnorm == 0:
        return Bounds(math.inf, 0.0, 0.0, 0.0, 0.0 if sqnorm == 0 else -math.inf)
    dual_scale = weights.dual_sum / weights.sqnorm
    dual = 0.5 * weights.dual_sum * dual_scale
    if sqnorm == 0:
        return Bounds(math.inf, dual, 0.0, dual_scale, 0.0)
    smallest = float(products.min())
    margin = smallest / math.sqrt(sqnorm)
    # A product that is 0 but for the rounding of larger ones does not separate the classes.
    if margin > 0 and smallest > ROUNDING * float(products.max()):
        return Bounds(0.5 / margin / margin, dual, 1 / smallest, dual_scale, margin)
    return Bounds(math.inf, dual, dual_scale, dual_scale, min(margin, 0.0))
