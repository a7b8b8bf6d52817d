"""The exact solution of a dual problem, computed from nearly optimal dual variables."""

import numpy as np
from scipy.linalg import LinAlgError

from margins.decremental._pivots import FREE, UPPER, ZERO
from margins.decremental.paths import ROUNDING, Paths
from margins.decremental.response import response_of
from margins.linalg.threads import computed_once

# Maximum number of guesses of the free variables; nearly optimal dual variables need few.
MAX_ROUNDS = 20


class Solution:
    """A solution of a dual problem, with its free support vectors, augmented margins and response."""

    def __init__(self, problem, alpha, bias, free):
        self.problem, self.alpha, self.free = problem, alpha, free
        self.bias = bias  # the intercept if it is free, else 0
        self.sigma = augmented_margins(problem, alpha, bias)

    @computed_once
    def response(self):
        """The response of the solution: DualResponse or PrimalResponse."""
        return response_of(self.problem, self.free)

    def release(self):
        """Release the response, which is computed again when it is needed."""
        vars(self).pop("response", None)

    @property
    def violation(self):
        """The largest violation of optimality, relative to 1 and to the largest dual variable."""
        problem, alpha = self.problem, self.alpha
        inside, largest = problem.upper > 0, float(np.abs(alpha).max()) or 1.0
        excess = self.sigma - (problem.ridge - problem.diag) * alpha - 1
        below, above = np.where(alpha < problem.upper, -excess, 0.0), np.where(alpha > 0, excess, 0.0)
        outside = np.maximum(-alpha, alpha - problem.upper) / largest
        imbalance = abs(float(problem.signs @ alpha)) / largest if problem.is_free else 0.0
        return float(np.max(np.maximum(np.maximum(below, above), outside)[inside], initial=imbalance))


def augmented_margins(problem, alpha, bias):
    """Return sigma_k of all samples (ndarray of float64, shape (m,))."""
    return problem.margins(alpha[None])[0] + bias * problem.signs + problem.ridge * alpha


def solution_of(problem, alpha, bias):
    """Return the exact solution of a problem."""
    bias = bias if problem.is_free else 0.0
    step = 1 / np.maximum(problem.inner.diagonal + problem.ridge, np.finfo(float).tiny)
    sigma = augmented_margins(problem, alpha, bias)
    sides, start_values, best = _sides(problem, alpha - step * (sigma - 1)), (alpha, sigma), None
    for _ in range(MAX_ROUNDS):
        bounds = np.where(sides == UPPER, problem.upper, 0.0)
        if problem.is_free and not (sides == FREE).any():
            number, bias = _at_end_of_interval(problem, bounds)
            sides[number] = FREE
        try:
            response = response_of(problem, np.flatnonzero(sides == FREE))
        except LinAlgError:
            break
        solution = _solved(problem, response, bounds, bias)
        bias = solution.bias
        if best is None or solution.violation < best.violation:
            best = solution
        if solution.violation <= ROUNDING:
            break
        if problem.is_smooth:
            last, sides = sides, _sides(problem, solution.alpha - step * (solution.sigma - 1))
            if np.array_equal(sides, last):
                break
        else:
            [end] = Paths(solution, start_values).ends([np.array([], dtype=np.intp)])
            if end is None:
                break
            sides, start_values = end.sides, None
    if best is not None:
        best.alpha = problem.in_box(best.alpha)
    return best


def _sides(problem, moved):
    """Return the side of each sample (ndarray of int8, shape (m,))."""
    sides = np.where(moved >= problem.upper, UPPER, np.where(moved > 0, FREE, ZERO))
    sides[problem.upper == 0] = ZERO
    return sides.astype(np.int8)


def _solved(problem, response, alpha, bias):
    """Return the solution with these free dual variables, given the values of the others (Solution).

    The response includes the ridge. Corrections solve the problem with the ridge, then without it. The
    solution with the smallest violation is returned, so the ridge remains if it is needed.
    """
    free, best = response.free, None
    for n_corrections in range(4):
        excess = augmented_margins(problem, alpha, bias) - 1
        if n_corrections > 1:
            excess -= (problem.ridge - problem.diag) * alpha
        moves, shift = response.solve(-excess[free], -float(problem.signs @ alpha))
        alpha = alpha.copy()
        alpha[free] += moves
        bias += float(shift)
        solution = Solution(problem, alpha, bias, free)
        if best is None or solution.violation < best.violation:
            best = solution
    best.response = response
    return best


def _at_end_of_interval(problem, alpha):
    """Return a sample at an end of the interval of optimal intercepts, and the intercept."""
    inside = np.flatnonzero(problem.upper > 0)
    sums = augmented_margins(problem, alpha, 0.0)
    biases = (1 - sums) * problem.signs
    at_least = (problem.signs > 0) == (alpha < problem.upper)  # l_k (f_k + b) >= 1, or <= 1
    lower, upper = inside[at_least[inside]], inside[~at_least[inside]]
    ends = [lower[np.argmax(biases[lower])]] if len(lower) else []
    ends += [upper[np.argmin(biases[upper])]] if len(upper) else []
    number = ends[0]
    return number, float(biases[number])
