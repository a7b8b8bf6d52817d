"""The margins of samples by models without them: what is proven of them, at the least expense.

A sample is settled by the first of these that suffices.

1. **No work.** Its margin is at most that by the model with it, and the same if its dual variable is
   0; if the intercept is penalised, it is at least the margin less alpha_i |x_i|^2 (Jaakkola &
   Haussler 1999).
2. **One step**: the dual variables that would be optimal without it if no sample changed sides, of many
   samples at a time.
3. **The path** to the solution without it, which is exact (`margins.decremental.paths`).
4. **A fit** without it, begun from the solution with it.
"""

import numpy as np

from margins.decremental.bounds import bounds_by, radius, with_all
from margins.decremental.paths import Paths
from margins.decremental.solution import solution_of

# Numbers in a matrix of a block of samples; there are six such matrices at a time.
BLOCK_SIZE = 2**19
# Support vectors whose margins are estimated together.
N_ESTIMATES = 256


class LeftOut:
    """Bounds of the margins l_i (w.x_i + b), each by the model without the sample, or without its group.

    Parameters
    ----------
    solution : margins.decremental.solution.Solution
        Of the problem with all samples.
    groups : ndarray of intp, shape (m,)
        The group of each sample, which is left out with it.

    Attributes
    ----------
    with_all : ndarray of float64, shape (m,)
        The margins by the model with all samples.
    margin : ndarray of float64, shape (m,)
        Estimates within the bounds.
    lower, upper : ndarray of float64, shape (m,)
    is_settled : ndarray of bool, shape (m,)
        True: a later step does not narrow the bounds. They are those of an exact solution.
    """

    def __init__(self, solution, groups):
        self.solution, self.groups, self._paths = solution, groups, None
        problem, alpha = solution.problem, solution.alpha
        direction = np.zeros((1, len(problem)))
        if problem.is_free:
            response = solution.response
            direction[0, response.free], _ = response.solve(np.zeros(len(response.free)), 1.0)
        whole = with_all(problem, alpha[None], direction)
        self.with_all, self.margin, (_, self.lower, self.upper) = (
            whole.margin,
            whole.margin.copy(),
            whole.bounds,
        )
        has_support = np.zeros(groups.max() + 1, dtype=bool)
        has_support[groups[alpha > 0]] = True
        # Others of the group must not be on the direction either.
        has_support[groups[(direction[0] != 0) & ~self._is_alone]] = True
        self.is_settled = ~has_support[groups]
        self.lower[~self.is_settled], self.upper[~self.is_settled] = -np.inf, np.inf
        self._bound_without_work(np.flatnonzero((alpha > 0) & self._is_alone), whole)

    @property
    def _is_alone(self):
        """True for samples that are left out alone."""
        return np.bincount(self.groups)[self.groups] == 1

    def _bound_without_work(self, numbers, whole):
        """Bounds of support vectors that are left out alone.

        With d the direction of `with_all`, less sample i, the dual variables alpha + alpha_i d are
        feasible without it, and the difference of the objectives is gap + alpha_i^2 c / 2, less alpha_i
        times what p exceeds the margin by. If the intercept is penalised, p is the margin, and w lies
        within sqrt(gap + alpha_i^2 c / 4) of the mean of both models.
        """
        problem, alpha = self.solution.problem, self.solution.alpha[numbers]
        c, error = whole.curvature[numbers], whole.error[numbers]
        self.upper[numbers] = whole.margin[numbers] + whole.gap / alpha + error
        gap = whole.gap + 2 * alpha * error  # as alpha_i times a margin is rounded
        if problem.is_free:
            longest = np.maximum(whole.ahead[numbers] - alpha, 0.0)
            falls = np.maximum(whole.margin[numbers] - whole.centre[numbers], 0.0)
            reach = 0.5 * alpha * c + radius(gap + alpha * (0.5 * alpha * c + falls), c, longest)
        else:
            reach = np.sqrt(c * (gap + 0.25 * alpha * alpha * c))
        self.lower[numbers] = whole.centre[numbers] - 0.5 * alpha * c - reach - error

    def estimate(self):
        """Set the margins of support vectors that are left out alone, and have no exact bounds, to what
        one step of the solution gives: the span estimate of Vapnik & Chapelle (2000)."""
        solution = self.solution
        numbers = np.flatnonzero((solution.alpha > 0) & self._is_alone & ~self.is_settled)
        for begin in range(0, len(numbers), N_ESTIMATES):
            block = numbers[begin : begin + N_ESTIMATES]
            alpha, own = solution.alpha[block], solution.response.diagonal(block)
            is_free = solution.response.is_free_vector[block]
            movable = ~is_free | (own > 0)  # all but the last one that a free intercept needs
            steps = np.divide(alpha, own, out=alpha * own, where=is_free & movable)
            margins = np.where(movable, solution.sigma[block] - steps, self.margin[block])
            self.margin[block] = np.clip(margins, self.lower[block], self.upper[block])

    def step(self, groups):
        """Bounds of support vectors that are left out alone, by one step of the solution.

        Parameters
        ----------
        groups : list of ndarray of intp
            The samples of each; others are passed over.
        """
        alpha, n_rows = self.solution.alpha, max(1, BLOCK_SIZE // len(self.groups))
        numbers = np.array([group[0] for group in groups if len(group) == 1], dtype=np.intp)
        numbers = numbers[alpha[numbers] > 0]
        for begin in range(0, len(numbers), n_rows):
            self._step(numbers[begin : begin + n_rows])

    def _step(self, numbers):
        """As `step`, of some samples."""
        solution, problem = self.solution, self.solution.problem
        directions = _directions(solution.response, numbers)
        rows, is_free = np.arange(len(numbers)), solution.response.is_free_vector[numbers]
        own = np.where(is_free, -directions[rows, numbers], 1.0)
        directions[rows, numbers] = 0.0
        directions, numbers, own = directions[own > 0], numbers[own > 0], own[own > 0]
        directions /= own[:, None]
        moved = solution.alpha + solution.alpha[numbers][:, None] * directions
        moved[np.arange(len(numbers)), numbers] = 0.0
        alpha = problem.in_box(moved)
        is_stopped = (directions != 0) & ((alpha == 0) | (alpha == problem.upper))
        directions[is_stopped] = 0.0
        if problem.is_free:  # what is stopped would have to be balanced by others
            moves_on = ~is_stopped.any(axis=1)
            alpha, directions, numbers = alpha[moves_on], directions[moves_on], numbers[moves_on]
        if len(numbers):
            self._bound(numbers, alpha, directions)

    def follow(self, groups):
        """Bounds of the samples of some groups by the path to the solution without each.

        Parameters
        ----------
        groups : list of ndarray of intp
            The samples of each.

        Returns
        -------
        list of ndarray of intp
            The groups whose path was left.
        """
        if self._paths is None:
            self._paths = Paths(self.solution)
        left = []
        for block in _blocks(groups, BLOCK_SIZE // len(self.groups)):
            ends = []
            for group, end in zip(block, self._paths.ends(block), strict=True):
                if end is None:
                    left.append(group)
                else:
                    ends.append((group, end.alpha, end.directions))
            self._narrow(ends)
        return left

    def solve(self, group, alpha, bias):
        """Bounds of the samples of a group by a solution without it.

        Parameters
        ----------
        group : ndarray of intp
        alpha : ndarray of float64, shape (m,)
            Dual variables that are nearly optimal without the group.
        bias : float
            Their intercept; read if it is free.
        """
        solution = solution_of(self.solution.problem.without(group), alpha, bias)
        if solution is None:
            return
        self._narrow([(group, solution.alpha, _directions(solution.response, group))])

    def _narrow(self, ends):
        """Narrow the bounds of the samples of some groups by solutions without each."""
        if not ends:
            return
        problem = self.solution.problem
        groups, alphas, directions = zip(*ends, strict=True)
        numbers = np.concatenate(groups)
        alpha = np.repeat(problem.in_box(np.array(alphas)), [len(group) for group in groups], axis=0)
        self._bound(numbers, alpha, np.vstack(directions))
        self.is_settled[numbers] = True

    def _bound(self, numbers, alpha, directions):
        """Narrow the bounds of some samples by dual variables that are feasible without each."""
        bounds = bounds_by(
            self.solution.problem, alpha, np.ascontiguousarray(directions), self.groups, numbers
        )
        self.lower[numbers] = np.maximum(self.lower[numbers], bounds.lower)
        self.upper[numbers] = np.minimum(self.upper[numbers], bounds.upper)
        self.margin[numbers] = np.clip(bounds.margin, self.lower[numbers], self.upper[numbers])

    def release(self):
        """Release what paths share."""
        self._paths = None
        self.solution.release()


def _directions(response, numbers):
    """How free support vectors move as a variable of each sample is lowered: ndarray, (n_j, m)."""
    directions = np.zeros((len(numbers), len(response.is_free_vector)))
    directions[:, response.free] = -response.columns_of_free(numbers)
    return directions


def _blocks(groups, size):
    """The groups in lists of about `size` samples."""
    block, n_samples = [], 0
    for group in groups:
        block.append(group)
        n_samples += len(group)
        if n_samples >= size:
            yield block
            block, n_samples = [], 0
    if block:
        yield block
