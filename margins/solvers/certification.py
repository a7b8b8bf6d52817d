"""What the model and the dual variables of a run prove, as they are."""

import math

from margins.losses.base import NOTHING


def bounds_of(hypothesis, weights, data, loss, theta=0.0, scale=None, products=None):
    """The bounds of the optimum by a model and dual variables: one pass over all samples.

    Parameters
    ----------
    hypothesis : WeightVector or PrimalPoint
        The weight vector of the model.
    weights : WeightVector
        With the dual variables.
    data : BinaryData
    loss : margins.losses.Loss
    theta : float
        The threshold of the score.
    scale : float, optional
        The factor from the hypothesis to the model; None: the one of least objective.
    products : ndarray of float64, shape (m,), optional
        w.y_k, if they are known; overwritten.

    Returns
    -------
    bounds : margins.losses.base.Bounds
        `primal` is the objective of the model, `primal_scale` the factor of the least objective.
    products : ndarray of float64, shape (m,)
        w.y_k - theta l_k of the model.
    """
    if products is None:
        products = hypothesis.products(data)
    sqnorm = hypothesis.ordinary_sqnorm(data)
    if theta != 0:
        products -= theta * data.signs
    if theta != 0 and not data.has_free_intercept:
        # The intercept's weight is rho label_sum - theta / rho.
        length = theta / data.sqrho if data.sqrho > 0 else math.inf
        sqnorm = max(sqnorm + theta * (length - 2 * hypothesis.label_sum), 0.0)
        if not math.isfinite(sqnorm):
            return NOTHING, products
    bounds = loss.bounds(products, sqnorm, weights)
    if data.has_free_intercept:
        bounds = _bounded_by_intercept(bounds, weights, data)
    if scale is not None:
        bounds = bounds.at_scale(scale, loss, products, sqnorm)
    return bounds, products


def _bounded_by_intercept(bounds, weights, data):
    """The bounds of a problem whose intercept b is not penalised.

    For any b the dual variables prove ``dual - b sum_k alpha_k l_k``. The sum is 0 but for rounding, and
    an optimal b is at most 1 + R |w|, R^2 the largest K(x, x): beyond it one class has no loss, and the
    other one's grows with b.
    """
    dual = weights.dual
    label_sum = math.fsum((data.signs * dual)[dual > 0])
    if label_sum == 0:
        return bounds
    if not math.isfinite(bounds.primal):
        return bounds._replace(dual=0.0)
    largest = 1 + math.sqrt(float(data.ordinary_sqnorms.max()) * 2 * bounds.primal)
    return bounds._replace(dual=bounds.dual - bounds.dual_scale * abs(label_sum) * largest)
