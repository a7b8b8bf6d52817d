"""Proven bounds of a sample's margin by the model without it.

Let alpha be feasible for the problem without the sample i, w = sum_k alpha_k l_k x_k with any intercept,
and G >= 0 the difference of their objectives, so that the optimum is at most G above the dual value.
Suppose that the optimum had l_i (w.x_i + b) <= t. Then it would be that of the problem with this
constraint too, and alpha + mu v with the multiplier mu of the constraint would be feasible for its dual,
if 0 <= alpha + mu v <= u (and, if the intercept is free, sum_k v_k l_k = l_i). Its dual value exceeds
that of alpha by

    mu (p - t) - mu^2 c / 2,    p = l_i (w.x_i + b) + sum_k v_k (1 - D_k alpha_k - s_k),
                                c = |sum_k v_k l_k x_k - l_i x_i|^2 + sum_k D_k v_k^2

with s_k = l_k (w.x_k + b). That is impossible if it exceeds G, hence

    t >= p - min_mu (G / mu + mu c / 2) = p - sqrt(2 G c)    unless the bounds of alpha end mu before;

and the same with -v is a bound from above. Any v will do, v = 0 if the intercept is penalised: then c is
|x_i|^2. The moves of alpha when alpha_i is lowered make c the least: the inverse of the Hessian at x_i.

G is the sum of the differences of each sample's loss and its conjugate, none of which is negative, so it
is as exact as the margins are, however close the two objectives are. Margins are those of w as it is
rounded, which is off sum_k alpha_k l_k x_k by some d: G has at most |d|^2 more, and p is off by at most
|d| sqrt(c).
"""

import math
from typing import NamedTuple

import numpy as np

from margins.decremental._bounds import sums_of_bounds
from margins.decremental.problem import Features

UNIT = float(np.finfo(np.float64).eps) / 2
# Of the margin, b, 1 and D_k alpha_k, sums of which are rounded as often.
N_ROUNDED = 4


class Bounds(NamedTuple):
    """Bounds of the margins l_i (w.x_i + b) of some samples, each by the model without it.

    Attributes
    ----------
    margin : ndarray of float64, shape (n,)
        An estimate within the bounds.
    lower, upper : ndarray of float64, shape (n,)
    """

    margin: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Sums(NamedTuple):
    """Sums over samples, for some models: arrays of float64 with one number, or row, for each.

    Attributes
    ----------
    margins : shape (n, m)
        l_k (w.x_k + b).
    roundings : shape (n, m)
        By how much they may have been rounded.
    gap : shape (n,)
        G.
    drift : shape (n,)
        |w - sum_k alpha_k l_k x_k| at most, w being rounded; 0 where w is not computed.
    rests : shape (n,)
        sum_k v_k (1 - D_k alpha_k - s_k).
    rounded : shape (n,)
        By how much that may have been rounded.
    curvature : shape (n,)
        sum_k D_k v_k^2.
    ahead, behind : shape (n,)
        The largest mu for v and for -v.
    """

    margins: np.ndarray
    roundings: np.ndarray
    gap: np.ndarray
    drift: np.ndarray
    rests: np.ndarray
    rounded: np.ndarray
    curvature: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray


def sums_of(problem, alpha, directions, groups, numbers):
    """The sums of some models.

    Parameters
    ----------
    problem : margins.decremental.problem.BoxProblem
    alpha, directions : ndarray of float64, shape (n, m)
        0 at the samples that are left out.
    groups : ndarray of intp, shape (m,)
        To which each sample belongs.
    numbers : ndarray of intp, shape (n,), or None
        The samples whose groups the models do not have; None: one model, that with all samples.

    Returns
    -------
    Sums
    """
    left_out = np.array([-1], dtype=np.intp) if numbers is None else groups[numbers]
    margins, lengths = problem.margins(alpha), np.sqrt(problem.inner.diagonal)
    # The terms of w cancel where samples far from 0 have a free intercept.
    terms = unit_of(problem) * np.linalg.norm(alpha * lengths, axis=1)
    sizes = np.sqrt(np.maximum(np.einsum("ij,ij->i", alpha, margins), 0.0)) + terms
    has_weights = isinstance(problem.inner, Features)
    drift = terms if has_weights else np.zeros(len(alpha))
    roundings = unit_of(problem) * sizes if has_weights else terms
    sums = np.empty((len(alpha), 7))
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
    gap, bias, rests, rounded, curvature, ahead, behind = sums.T
    gap = gap + drift * drift
    if problem.is_free:
        margins = margins + np.multiply.outer(bias, problem.signs)
        # Another dual variable that makes up for a rounded balance changes the dual value by this.
        price = 1 + 2 * np.abs(bias) + sizes * lengths.max()  # the gap may be that of 2 b
        gap = gap + np.abs(alpha @ problem.signs) * price
        wanted = 1.0 if numbers is None else problem.signs[numbers]
        rounded = rounded + np.abs(directions @ problem.signs - wanted) * price
    return Sums(
        margins,
        np.multiply.outer(roundings, lengths) + N_ROUNDED * UNIT * np.abs(bias)[:, None],
        gap,
        drift,
        rests,
        rounded,
        curvature,
        ahead,
        behind,
    )


def bounds_by(problem, alpha, directions, groups, numbers):
    """Bounds by dual variables that are feasible without each sample.

    Parameters
    ----------
    problem, alpha, directions, groups, numbers
        As for `sums_of`, one row for each sample.

    Returns
    -------
    Bounds
    """
    sums = sums_of(problem, alpha, directions, groups, numbers)
    bounds = _bounds_of(problem, sums, directions, numbers)
    if problem.is_free:
        # Where the optimal intercepts are an interval, alpha cannot move towards its other end.
        for blocked, side in ((sums.ahead == 0, "lower"), (sums.behind == 0, "upper")):
            rows = np.flatnonzero(blocked)
            if len(rows):
                margins, part = sums.margins[rows], numbers[rows]
                others = _exchanges(problem, alpha[rows], margins, groups, part, side == "lower")
                sums_of_side = sums_of(problem, alpha[rows], others, groups, part)
                getattr(bounds, side)[rows] = getattr(
                    _bounds_of(problem, sums_of_side, others, part), side
                )
    return bounds


def _bounds_of(problem, sums, directions, numbers):
    """The bounds that follow from the sums: Bounds."""
    rows, diagonal = np.arange(len(numbers)), problem.inner.diagonal
    margin = sums.margins[rows, numbers] + sums.rests
    error = sums.roundings[rows, numbers] + sums.rounded
    coefficients = directions * problem.signs
    coefficients[rows, numbers] = -problem.signs[numbers]
    # Rounding where large terms cancel.
    size = float(diagonal.max()) * np.einsum("ij,ij->i", coefficients, coefficients)
    curvature = np.maximum(problem.inner.sqnorms(coefficients), 0.0) + unit_of(problem) * size
    curvature += sums.curvature
    error += sums.drift * np.sqrt(curvature)
    lower = margin - error - radius(sums.gap, curvature, sums.ahead)
    return Bounds(margin, lower, margin + error + radius(sums.gap, curvature, sums.behind))


def _exchanges(problem, alpha, margins, groups, numbers, is_ahead):
    """Directions that move the dual variable of one other sample, the one of the closest bound.

    Parameters
    ----------
    problem, alpha, groups, numbers
        As for `sums_of`.
    margins : ndarray of float64, shape (n, m)
    is_ahead : bool
        True: alpha is to move along the direction; False: against it.

    Returns
    -------
    ndarray of float64, shape (n, m)
    """
    signs = problem.signs * problem.signs[numbers][:, None]
    rises = signs > 0 if is_ahead else signs < 0
    allowed = np.where(rises, alpha < problem.upper, alpha > 0) & (problem.upper > 0)
    allowed &= groups != groups[numbers][:, None]
    rests = signs * (1 - problem.diag * alpha - margins)
    best = np.where(allowed, rests if is_ahead else -rests, -np.inf).argmax(axis=1)
    rows, directions = np.arange(len(numbers)), np.zeros_like(alpha)
    directions[rows, best] = signs[rows, best]
    return directions


class WithAll(NamedTuple):
    """What bounds of margins by the model with all samples are made of.

    Attributes
    ----------
    margin : ndarray of float64, shape (m,)
        l_i (w.x_i + b).
    centre : ndarray of float64, shape (m,)
        p of each sample.
    error : ndarray of float64, shape (m,)
        By how much these may have been rounded.
    curvature : ndarray of float64, shape (m,)
        c of each sample.
    ahead, behind : ndarray of float64, shape (m,)
        The largest mu for v and for -v.
    gap : float
        G.
    """

    margin: np.ndarray
    centre: np.ndarray
    error: np.ndarray
    curvature: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray
    gap: float

    @property
    def bounds(self):
        """Bounds of the margins: Bounds."""
        below = self.error + radius(self.gap, self.curvature, self.ahead)
        above = self.error + radius(self.gap, self.curvature, self.behind)
        return Bounds(self.margin, self.centre - below, self.centre + above)


def with_all(problem, alpha, direction):
    """What bounds of the margins of all samples by the model with all of them are made of: WithAll.

    Parameters
    ----------
    problem, alpha
        As for `sums_of`, one row.
    direction : ndarray of float64, shape (1, m)
        l_i v, the same for all samples; 0 unless the intercept is free.
    """
    diagonal, signs = problem.inner.diagonal, problem.signs
    sums = sums_of(problem, alpha, direction, np.zeros(len(problem), dtype=np.intp), None)
    margins, coefficients = sums.margins[0], direction * signs
    curvature = sums.curvature + problem.inner.sqnorms(coefficients) + diagonal
    curvature = curvature - 2 * problem.inner.products(coefficients)[0]
    size = float(diagonal.max()) * (1 + float(np.sum(direction**2)))
    # v without the sample itself, multiplied so that it balances all the same.
    own = signs * direction[0]
    share = np.maximum(1 - own, 0.0)
    rests = signs * sums.rests - own * (1 - problem.diag * alpha[0] - margins)
    is_ahead = signs > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = (np.maximum(curvature, 0.0) + unit_of(problem) * size) / share**2
        rounded = sums.rounded / share + sums.drift * np.sqrt(curvature)
        return WithAll(
            margin=margins,
            centre=margins + np.where(share > 0, rests / share, 0.0),
            error=sums.roundings[0] + np.where(share > 0, rounded, np.inf),
            curvature=curvature,
            ahead=share * np.where(is_ahead, sums.ahead, sums.behind),
            behind=share * np.where(is_ahead, sums.behind, sums.ahead),
            gap=float(sums.gap[0]),
        )


def radius(gap, curvature, longest):
    """The least of gap / mu + mu curvature / 2 over 0 < mu <= `longest`: ndarray of float64, shape (n,).

    It is inf if `longest` is 0, and 0 if only `gap` is.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.sqrt(2 * gap / curvature)
        ended = gap / longest + 0.5 * longest * curvature
        result = np.where(best <= longest, np.sqrt(2 * gap * curvature), ended)
    return np.where(longest > 0, np.where(gap > 0, result, 0.0), np.inf)


def unit_of(problem):
    """The rounding of a margin relative to the lengths of w and x: float."""
    return (math.sqrt(len(problem)) + 8) * UNIT
