"""Safe screening of samples: what a certificate says about the dual variables of the optimum.

The problem: min P(w) = |w|^2 / 2 + sum_k h_k(1 - w.y_k). Given w with its primal value, and any proven
dual value, find samples whose margin at the optimum w* is on one side of 1.

**Proof.** |w|^2 / 2 is strongly convex with constant 1, and every h_k is convex, so

    P(w) >= P(w*) + |w - w*|^2 / 2  >=  dual + |w - w*|^2 / 2
    |w - w*| <= r = sqrt(2 (P(w) - dual))

and by Cauchy and Schwarz |w.y_k - w*.y_k| <= r |y_k|. Hence

    w.y_k - r |y_k| > 1    w*.y_k > 1, where the loss is flat:     alpha*_k = 0
    w.y_k + r |y_k| < 1    w*.y_k < 1; the hinge loss has slope -U_k:  alpha*_k = U_k

by the optimality condition that alpha*_k is minus a subgradient of the loss at w*.y_k. The first holds
for every loss with h_k = 0 beyond margin 1; the second for a loss of constant slope before it, such as
the hinge loss, and not for the squared hinge loss, whose dual variable there is 2 C_k (1 - w*.y_k).

A screened sample leaves the problem: with alpha*_k = 0 it is dropped, with alpha*_k = U_k its U_k y_k is
a constant vector. The optimum of what is left is that of all samples.

Solvers do not use it: where it screens many samples, a fit is about to end (docs/paths.md).

**Source**: Shibagaki, Karasuyama, Hatano & Takeuchi (2016), Simultaneous safe screening of features and
samples in doubly sparse modeling; Ndiaye, Fercoq, Gramfort & Salmon (2017), Gap safe screening rules for
sparsity enforcing penalties.
"""

import math
from typing import NamedTuple

import numpy as np

# Products and bounds of certificates are exact to this share: a sample within it is not screened.
ROUNDING = 1e-9


class Screened(NamedTuple):
    """Samples whose dual variables at the optimum are known.

    Attributes
    ----------
    at_zero : ndarray of bool, shape (m,)
        alpha*_k = 0.
    at_upper : ndarray of bool, shape (m,)
        alpha*_k = U_k.
    radius : float
        No optimal weight vector is farther from the one given.
    """

    at_zero: np.ndarray
    at_upper: np.ndarray
    radius: float

    @property
    def share(self):
        """The share of the samples that is screened: float."""
        return float(np.mean(self.at_zero | self.at_upper))


def screened(loss, margins, sqnorms, primal, dual):
    """The samples that a certificate screens.

    Parameters
    ----------
    loss : margins.losses.Loss
        One that is finite. Beyond margin 1 it must be 0; samples before it are screened only if it is
        not smooth and has upper bounds, as the hinge loss.
    margins : ndarray of float64, shape (m,)
        w.y_k, the intercept included.
    sqnorms : ndarray of float64, shape (m,)
        |y_k|^2, the constant feature of the intercept included, slack terms not.
    primal : float
        P(w), of this w.
    dual : float
        Any dual value: at most the optimum.

    Returns
    -------
    Screened

    Raises
    ------
    ValueError
        If the loss is that of the hard margin, for which P is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from margins.losses import Hinge
    >>> margins, sqnorms = np.array([1.5, 0.9, -2.0]), np.ones(3)
    >>> found = screened(Hinge(C=1.0), margins, sqnorms, primal=3.2, dual=3.18)
    >>> found.at_zero.tolist(), found.at_upper.tolist()
    ([True, False, False], [False, False, True])
    """
    if not loss.is_finite:
        raise ValueError("loss of screened must be finite. Got the hard margin.")
    excess = max(primal - dual, 0.0) + ROUNDING * abs(primal)
    radius = math.sqrt(2 * excess) if math.isfinite(excess) else math.inf
    with np.errstate(invalid="ignore"):
        reach = radius * np.sqrt(sqnorms) + ROUNDING * np.abs(margins) + ROUNDING
    at_zero = margins - reach > 1
    if loss.has_upper_bounds and not loss.is_smooth:
        at_upper = margins + reach < 1
    else:
        at_upper = np.zeros(len(margins), dtype=bool)
    return Screened(at_zero, at_upper, radius)


def screened_by(run):
    """The samples that the certificate of a run screens.

    Parameters
    ----------
    run : margins.solvers.driver.Run
        Certified, with products.

    Returns
    -------
    Screened
    """
    margins = run.primal_scale * run.products
    certificate = run.certificate
    return screened(run.loss, margins, run.data.ordinary_sqnorms, certificate.primal, certificate.dual)
