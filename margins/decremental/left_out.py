"""Proven bounds on the margins of samples in the models without them, with as little work as possible.

A sample is settled by the first of these that suffices.

1. **No work.** Leaving out a sample does not raise its own margin, and changes nothing if its dual
   variable is 0. With a penalised intercept, the margin falls by at most alpha_i |x_i|^2 (Jaakkola &
   Haussler 1999).
2. **One step**: the dual variables that would be optimal without the sample if no sample changed sides.
   They are computed for many samples together.
3. **The path** to the solution without the sample, which is exact (`margins.decremental.paths`).
4. **A fit** without the sample, started from the solution with it.
"""

import numpy as np

from margins.decremental.bounds import bounds_by, full_model_bounds, radius
from margins.decremental.paths import Paths
from margins.decremental.solution import solution_of

# Number of values in one matrix of a block of samples; a block needs six such matrices.
BLOCK_SIZE = 2**19
# Bounds from exact solutions that are wider than this, relative to 1 + |margin|, show lost digits.
WIDE = 1e-3
# Number of support vectors whose margins are estimated together.
N_ESTIMATES = 256


class MarginBounds:
    """Bounds on the margins l_i (w.x_i + b), and estimates, in models without the sample's group.

    If `is_settled`, they come from an exact solution, and no later step narrows them.
    """

    def __init__(self, solution, groups):
        self.solution, self.groups, self._paths = solution, groups, None
        problem, alpha = solution.problem, solution.alpha
        direction = np.zeros((1, len(problem)))
        if problem.is_free:
            response = solution.response
            direction[0, response.free], _ = response.solve(np.zeros(len(response.free)), 1.0)
        whole = full_model_bounds(problem, alpha[None], direction)
        self.with_all, self.margin = whole.margin, whole.margin.copy()
        _, self.lower, self.upper = whole.bounds
        has_support = np.zeros(groups.max() + 1, dtype=bool)
        has_support[groups[alpha > 0]] = True
        # A direction must not move other samples of the group, because they are left out, too.
        has_support[groups[(direction[0] != 0) & ~self._is_alone]] = True
        self.is_settled = ~has_support[groups]
        self.lower[~self.is_settled], self.upper[~self.is_settled] = -np.inf, np.inf
        self._bound_without_work(np.flatnonzero((alpha > 0) & self._is_alone), whole)

    @property
    def _is_alone(self):
        """Samples that are left out alone: ndarray of bool, shape (m,)."""
        return np.bincount(self.groups)[self.groups] == 1

    def _bound_without_work(self, numbers, whole):
        """Bound the margins of support vectors that are left out alone, from the model with all samples.

        Let d be the direction of `full_model_bounds` with sample i removed, and t the multiple of w and
        b for which the gap holds. Dual variables alpha + alpha_i d are feasible without the sample. The
        difference of the objectives is then gap + alpha_i^2 c / 2 - alpha_i (p - t margin). If the
        intercept is penalised, p is the margin, and the optimal w without the sample lies within
        sqrt(gap + alpha_i^2 c / 4 + alpha_i (t - 1) margin / 2) of the mean of t w and of the weight
        vector after the change.
        """
        problem, alpha = self.solution.problem, self.solution.alpha[numbers]
        t, c = whole.multiple, whole.curvature[numbers]
        error = max(t, 1.0) * whole.error[numbers]
        margin, centre = t * whole.margin[numbers], whole.centre[numbers]
        self.upper[numbers] = margin + whole.gap / alpha + error
        gap = whole.gap + 2 * alpha * error  # because alpha_i times a margin is rounded
        if problem.is_free:
            longest = np.maximum(whole.ahead[numbers] - alpha, 0.0)
            falls = np.maximum(margin - centre, 0.0)
            reach = 0.5 * alpha * c + radius(gap + alpha * (0.5 * alpha * c + falls), c, longest)
        else:
            grows = 0.5 * (margin - centre)  # p is the margin at t = 1
            centre = centre + grows
            reach = np.sqrt(c * np.maximum(gap + alpha * (0.25 * alpha * c + grows), 0.0))
        self.lower[numbers] = centre - 0.5 * alpha * c - reach - error

    def estimate(self):
        """Estimate margins by one step: the span estimate of Vapnik & Chapelle (2000)."""
        solution = self.solution
        numbers = np.flatnonzero((solution.alpha > 0) & self._is_alone & ~self.is_settled)
        for begin in range(0, len(numbers), N_ESTIMATES):
            block = numbers[begin : begin + N_ESTIMATES]
            alpha, own = solution.alpha[block], solution.response.diagonal(block)
            is_free = solution.response.is_free_vector[block]
            movable = ~is_free | (own > 0)  # all but the last free one, which a free intercept needs
            steps = np.divide(alpha, own, out=alpha * own, where=is_free & movable)
            margins = np.where(movable, solution.sigma[block] - steps, self.margin[block])
            self.margin[block] = np.clip(margins, self.lower[block], self.upper[block])

    def step(self, groups):
        """Narrow the bounds of support vectors that are left out alone, by one step of the solution."""
        alpha, n_rows = self.solution.alpha, max(1, BLOCK_SIZE // len(self.groups))
        numbers = np.array([group[0] for group in groups if len(group) == 1], dtype=np.intp)
        numbers = numbers[alpha[numbers] > 0]
        for begin in range(0, len(numbers), n_rows):
            self._step(numbers[begin : begin + n_rows])

    def _step(self, numbers):
        """Take one step for each of some support vectors, and narrow their bounds."""
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
        if problem.is_free:  # other variables would have to balance those that stop
            moves_on = ~is_stopped.any(axis=1)
            alpha, directions, numbers = alpha[moves_on], directions[moves_on], numbers[moves_on]
        if len(numbers):
            self._bound(numbers, alpha, directions)

    def follow(self, groups):
        """Narrow the bounds of the samples of some groups by the paths to the solutions without each."""
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
            for group, *_ in ends:
                widths = self.upper[group] - self.lower[group]
                if not (widths <= WIDE * (1 + np.abs(self.margin[group]))).all():
                    left.append(group)
        return left

    def solve(self, group, alpha, bias):
        """Narrow the bounds of the samples of a group, by a solution without the group."""
        solution = solution_of(self.solution.problem.without(group), alpha, bias)
        if solution is None:
            return
        self._narrow([(group, solution.alpha, _directions(solution.response, group))])

    def _narrow(self, ends):
        """Narrow the bounds of the samples of some groups, by solutions without each group."""
        if not ends:
            return
        problem = self.solution.problem
        groups, alphas, directions = zip(*ends, strict=True)
        numbers = np.concatenate(groups)
        alpha = np.repeat(problem.in_box(np.array(alphas)), [len(group) for group in groups], axis=0)
        self._bound(numbers, alpha, np.vstack(directions))
        self.is_settled[numbers] = True

    def _bound(self, numbers, alpha, directions):
        """Narrow the bounds of some samples, by dual variables that are feasible without each sample."""
        bounds = bounds_by(
            self.solution.problem, alpha, np.ascontiguousarray(directions), self.groups, numbers
        )
        # A quotient of zeros bounds nothing.
        self.lower[numbers] = np.fmax(self.lower[numbers], bounds.lower)
        self.upper[numbers] = np.fmin(self.upper[numbers], bounds.upper)
        self.margin[numbers] = np.clip(bounds.margin, self.lower[numbers], self.upper[numbers])

    def release(self):
        self._paths = None
        self.solution.release()


def _directions(response, numbers):
    """Return how alpha moves when the fixed variable of each sample is lowered (ndarray, (n_j, m))."""
    directions = np.zeros((len(numbers), len(response.is_free_vector)))
    directions[:, response.free] = -response.columns_of_free(numbers)
    return directions


def _blocks(groups, size):
    """Yield lists of groups with about `size` samples in total."""
    block, n_samples = [], 0
    for group in groups:
        block.append(group)
        n_samples += len(group)
        if n_samples >= size:
            yield block
            block, n_samples = [], 0
    if block:
        yield block
