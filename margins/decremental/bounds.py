"""Proven bounds on a sample's margin in the model without it.

Let alpha be feasible for the problem without sample i, and let w = sum_k alpha_k l_k x_k, with any
intercept b. Let G >= 0 be the difference of the primal and the dual objective, so that the optimum is at
most G above the dual value. Suppose that the optimal model had l_i (w.x_i + b) <= t. It would remain
optimal with this inequality as an additional constraint. The dual of the constrained problem has one
more multiplier mu >= 0, and alpha + mu v is feasible for it if 0 <= alpha + mu v <= u and, with a free
intercept, sum_k v_k l_k = l_i. Its dual value exceeds the dual value of alpha by

    mu (p - t) - mu^2 c / 2,    p = l_i (w.x_i + b) + sum_k v_k (1 - D_k alpha_k - s_k),
                                c = |sum_k v_k l_k x_k - l_i x_i|^2 + sum_k D_k v_k^2

with s_k = l_k (w.x_k + b). The excess cannot be larger than G, hence

    t >= p - min_mu (G / mu + mu c / 2) = p - sqrt(2 G c)    unless the bounds of alpha limit mu,

and the direction -v bounds t from above. Any feasible v gives a valid bound. With a penalised intercept,
v = 0 is feasible and has c = |x_i|^2. The direction in which alpha moves when alpha_i is lowered makes c
smallest: c is then the quadratic form of the inverse Hessian at x_i.

G is a sum of one non-negative term for each sample, from its loss and the conjugate of the loss. It is
therefore as accurate as the margins, even if the two objectives are nearly equal. Margins are computed
from a rounded w, which differs from sum_k alpha_k l_k x_k by some d. This adds at most |d|^2 to G, and
changes p by at most |d| sqrt(c).
"""

from typing import NamedTuple

import numpy as np

from margins.decremental._bounds import sums_of_bounds
from margins.decremental.problem import Features
from margins.solvers.proof import UNIT, unit_of

# Number of rounding errors in a sum of the margin, b, 1 and D_k alpha_k.
N_ROUNDED = 4


class Bounds(NamedTuple):
    """Bounds on the margins l_i (w.x_i + b) of some samples, each in the model without the sample."""

    margin: np.ndarray  # shape (n,): estimates within the bounds
    # lower, upper: shape (n,)
    lower: np.ndarray
    upper: np.ndarray


class Sums(NamedTuple):
    """Sums over samples for n models: arrays of float64 with one number, or one row, per model."""

    margins: np.ndarray  # shape (n, m): l_k (w.x_k + b)
    roundings: np.ndarray  # shape (n, m): bounds on the rounding errors of the margins
    gap: np.ndarray  # shape (n,): G, the difference of the objectives
    # shape (n,): bound on |w - sum_k alpha_k l_k x_k|, the rounding error of w; 0 if w is not computed.
    drift: np.ndarray
    rests: np.ndarray  # shape (n,): sum_k v_k (1 - D_k alpha_k - s_k)
    rounded: np.ndarray  # shape (n,): bound on the rounding error of `rests`
    curvature: np.ndarray  # shape (n,): sum_k D_k v_k^2
    # ahead, behind: shape (n,): the largest mu for v and for -v.
    ahead: np.ndarray
    behind: np.ndarray
    # shape (n,): the multiple of w and b at which `gap` is the difference of the objectives.
    multiple: np.ndarray


def sums_of(problem, alpha, directions, groups, numbers):
    """Return the sums over samples for some models."""
    left_out = np.array([-1], dtype=np.intp) if numbers is None else groups[numbers]
    margins, lengths = problem.margins(alpha), np.sqrt(problem.inner.diagonal)
    # With a free intercept, the terms of w cancel if the samples are far from 0.
    terms = unit_of(len(problem)) * np.linalg.norm(alpha * lengths, axis=1)
    sizes = np.sqrt(np.maximum(np.einsum("ij,ij->i", alpha, margins), 0.0)) + terms
    has_weights = isinstance(problem.inner, Features)
    drift = terms if has_weights else np.zeros(len(alpha))
    roundings = unit_of(len(problem)) * sizes if has_weights else terms
    sums = np.empty((len(alpha), 8))
    sums_of_bounds(
        alpha,
        directions,
        margins,
        roundings,
        lengths,
        groups,
        left_out,
        problem.signs,
        problem.diag,
        problem.upper,
        problem.is_smooth,
        problem.is_free,
        N_ROUNDED * UNIT,
        sums,
    )
    gap, bias, rests, rounded, curvature, ahead, behind, multiple = sums.T
    gap = gap + drift * drift
    if problem.is_free:
        margins = margins + np.multiply.outer(bias, problem.signs)
        # Moving a dual variable to restore a rounded balance changes the dual value by this, per unit.
        price = 1 + 2 * np.abs(bias) + sizes * lengths.max()  # the gap may be computed at 2 b
        gap = gap + np.abs(alpha @ problem.signs) * price
        wanted = 1.0 if numbers is None else problem.signs[numbers]
        rounded = rounded + np.abs(directions @ problem.signs - wanted) * price
    roundings = np.multiply.outer(roundings, lengths) + N_ROUNDED * UNIT * np.abs(bias)[:, None]
    return Sums(margins, roundings, gap, drift, rests, rounded, curvature, ahead, behind, multiple)


def bounds_by(problem, alpha, directions, groups, numbers):
    """Return the bounds from dual variables that are feasible without each sample."""
    sums = sums_of(problem, alpha, directions, groups, numbers)
    bounds = _bounds_of(problem, sums, directions, numbers)
    if problem.is_free:
        # If the optimal intercepts form an interval, alpha cannot move towards the other end of it.
        for blocked, side in ((sums.ahead == 0, "lower"), (sums.behind == 0, "upper")):
            rows = np.flatnonzero(blocked)
            if len(rows):
                margins, part = sums.margins[rows], numbers[rows]
                others = _exchanges(problem, alpha[rows], margins, groups, part, side == "lower")
                sums_of_side = sums_of(problem, alpha[rows], others, groups, part)
                bounds_of_side = _bounds_of(problem, sums_of_side, others, part)
                getattr(bounds, side)[rows] = getattr(bounds_of_side, side)
    return bounds


def _bounds_of(problem, sums, directions, numbers):
    """Return the bounds that follow from the sums (Bounds)."""
    rows, diagonal = np.arange(len(numbers)), problem.inner.diagonal
    margin = sums.margins[rows, numbers] + sums.rests
    error = sums.roundings[rows, numbers] + sums.rounded
    coefficients = directions * problem.signs
    coefficients[rows, numbers] = -problem.signs[numbers]
    # Allow for rounding if large terms cancel.
    size = float(diagonal.max()) * np.einsum("ij,ij->i", coefficients, coefficients)
    curvature = np.maximum(problem.inner.sqnorms(coefficients), 0.0) + unit_of(len(problem)) * size
    curvature += sums.curvature
    error += sums.drift * np.sqrt(curvature)
    lower = margin - error - radius(sums.gap, curvature, sums.ahead)
    return Bounds(margin, lower, margin + error + radius(sums.gap, curvature, sums.behind))


def _exchanges(problem, alpha, margins, groups, numbers, is_ahead):
    """Return directions that move one other dual variable: the one that gives the closest bound."""
    signs = problem.signs * problem.signs[numbers][:, None]
    rises = signs > 0 if is_ahead else signs < 0
    allowed = np.where(rises, alpha < problem.upper, alpha > 0) & (problem.upper > 0)
    allowed &= groups != groups[numbers][:, None]
    rests = signs * (1 - problem.diag * alpha - margins)
    best = np.where(allowed, rests if is_ahead else -rests, -np.inf).argmax(axis=1)
    rows, directions = np.arange(len(numbers)), np.zeros_like(alpha)
    directions[rows, best] = signs[rows, best]
    return directions


class FullModelBounds(NamedTuple):
    """The quantities that bound the margins in the model with all samples."""

    margin: np.ndarray  # shape (m,): l_i (w.x_i + b)
    centre: np.ndarray  # shape (m,): p of each sample
    error: np.ndarray  # shape (m,): bounds on the rounding errors of `margin` and `centre`
    curvature: np.ndarray  # shape (m,): c of each sample
    # ahead, behind: shape (m,): the largest mu for v and for -v.
    ahead: np.ndarray
    behind: np.ndarray
    gap: float  # G, the difference of the objectives
    multiple: float  # The multiple of w and b at which G is this difference

    @property
    def bounds(self):
        """The bounds on the margins in the model with all samples: Bounds."""
        below = self.error + radius(self.gap, self.curvature, self.ahead)
        above = self.error + radius(self.gap, self.curvature, self.behind)
        return Bounds(self.margin, self.centre - below, self.centre + above)


def full_model_bounds(problem, alpha, direction):
    """Return the quantities that bound all margins in the model with all samples (FullModelBounds)."""
    diagonal, signs = problem.inner.diagonal, problem.signs
    sums = sums_of(problem, alpha, direction, np.zeros(len(problem), dtype=np.intp), None)
    margins, coefficients = sums.margins[0], direction * signs
    curvature = sums.curvature + problem.inner.sqnorms(coefficients) + diagonal
    curvature = curvature - 2 * problem.inner.products(coefficients)[0]
    size = float(diagonal.max()) * (1 + float(np.sum(direction**2)))
    # Remove the sample itself from v, and rescale v so that it remains balanced.
    own = signs * direction[0]
    share = np.maximum(1 - own, 0.0)
    rests = signs * sums.rests - own * (1 - problem.diag * alpha[0] - margins)
    is_ahead = signs > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = (np.maximum(curvature, 0.0) + unit_of(len(problem)) * size) / share**2
        curvature = np.where(share > 0, curvature, np.inf)  # there is no v without the sample
        rounded = sums.rounded / share + sums.drift * np.sqrt(curvature)
        return FullModelBounds(
            margin=margins,
            centre=margins + np.where(share > 0, rests / share, 0.0),
            error=sums.roundings[0] + np.where(share > 0, rounded, np.inf),
            curvature=curvature,
            ahead=share * np.where(is_ahead, sums.ahead, sums.behind),
            behind=share * np.where(is_ahead, sums.behind, sums.ahead),
            gap=float(sums.gap[0]),
            multiple=float(sums.multiple[0]),
        )


def radius(gap, curvature, longest):
    """Return the minimum of gap / mu + mu curvature / 2 over 0 < mu <= `longest`, inf if it is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        best = np.sqrt(2 * gap / curvature)
        ended = gap / longest + 0.5 * longest * curvature
        result = np.where(best <= longest, np.sqrt(2 * gap * curvature), ended)
    return np.where(longest > 0, np.where(gap > 0, result, 0.0), np.inf)
