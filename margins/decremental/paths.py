"""The path from a solution to the solution without some samples.

The dual variables of these samples are lowered to 0 together. All other variables follow linearly until
one of them reaches a bound and its sample changes sides: a free support vector leaves F, or a sample
enters F. Only a few samples are near a bound, so the path is followed over these
(`margins.decremental._paths`). If other samples turn out to have passed a bound, the path is followed
again with them. Many paths are followed side by side, and the columns of the response that they need are
computed together.

**Source**: Cauwenberghs & Poggio (2000), section 3: decremental unlearning.
"""

from typing import NamedTuple

import numpy as np

from margins.decremental._paths import Beginning, Path
from margins.decremental._pivots import FREE, GONE, UPPER, ZERO

# Maximum number of samples that a round adds to the near samples of a path: the first to reach a bound.
N_NEAR = 32
# Paths are given up after this many near samples, pivots or rounds: more take as long as a fit.
MAX_NEAR = 512
MAX_PIVOTS = 400
MAX_ROUNDS = 30
# A variable has passed a bound if it is beyond the bound by more than this share of its unit: the margin
# 1, or the largest dual variable.
ROUNDING = 1e-9
# Memory for the columns of the response, which paths share, in bytes.
MAX_BYTES = 2**25


class End(NamedTuple):
    """The end of a path."""

    sides: np.ndarray  # shape (m,): ZERO, FREE, UPPER or GONE; GONE for the group
    alpha: np.ndarray  # shape (m,): the dual variables of the solution without the group
    # shape (n_group, m): how alpha moves when the dual variable of a sample of the group is lowered
    # further.
    directions: np.ndarray


class Paths:
    """Paths that start at one solution or, if given, at other alpha and sigma, clipped to the bounds."""

    def __init__(self, solution, start_values=None):
        problem, self._response = solution.problem, solution.response
        m, upper, is_free = len(problem), problem.upper, self._response.is_free_vector
        sides = np.select([is_free, upper == 0, solution.alpha > 0], [FREE, GONE, UPPER], ZERO)
        moving = np.where(is_free, solution.alpha, solution.sigma)
        lowest = np.select([sides == FREE, sides == ZERO], [0.0, 1.0], -np.inf)
        highest = np.select([sides == FREE, sides == UPPER], [upper, 1.0], np.inf)
        start = moving if start_values is None else np.where(is_free, *start_values)
        excess = moving - np.clip(start, lowest, highest)
        units = np.where(is_free, float(solution.alpha.max()), 1.0)
        excess[np.abs(excess) <= ROUNDING * units] = 0.0
        self._distances = np.minimum(moving - lowest, highest - moving)
        self._needs_free = problem.is_free
        self._columns = np.empty((min(m, max(2 * MAX_NEAR, MAX_BYTES // (8 * m))), m))
        self._places, self._n_stored = np.full(m, -1), 0
        sizes = problem.inner.diagonal + problem.ridge
        self._begin = Beginning(
            sides.astype(np.int8), moving, excess, upper, sizes, self._columns, self._places, ROUNDING
        )

    def ends(self, groups):
        """Return the ends of the paths to the solutions without each group."""
        ends, near = [None] * len(groups), [self._first_near(group) for group in groups]
        waiting = range(len(groups))
        for _ in range(MAX_ROUNDS):
            waiting = [number for number in waiting if len(near[number]) <= MAX_NEAR]
            if not waiting:
                break
            waiting = self._follow(waiting, groups, near, ends)
        return ends

    def _first_near(self, group):
        """Return the samples over which a path is followed first: the group and, if necessary, others.

        If the intercept is free and the group contains all free support vectors, these are the samples
        nearest to a bound.
        """
        response = self._response
        if not self._needs_free or response.is_free_vector[group].sum() < len(response.free):
            return group
        distances = self._distances.copy()
        distances[group] = np.inf
        nearest = np.argsort(distances)[:N_NEAR]
        return np.concatenate([group, nearest[distances[nearest] < np.inf]])

    def _follow(self, numbers, groups, near, ends):
        """Follow some paths, set their ends, and return those on which others have passed a bound."""
        wanted = np.unique(np.concatenate([near[number] for number in numbers]))
        if len(wanted) > len(self._columns):
            half = len(numbers) // 2
            first = self._follow(numbers[:half], groups, near, ends)
            return first + self._follow(numbers[half:], groups, near, ends)
        self._prepare(wanted)
        others, passed = [], np.empty(N_NEAR, dtype=np.intp)
        for number in numbers:
            path = Path(self._begin, near[number], len(groups[number]))
            n_passed = path.follow(MAX_PIVOTS, passed)
            if n_passed == 0:
                end = End(*path.end())  # rounded pivots may have overflowed
                if np.isfinite(end.alpha).all() and np.isfinite(end.directions).all():
                    ends[number] = end
            elif n_passed > 0:
                near[number] = np.concatenate([near[number], passed[:n_passed]])
                others.append(number)
        return others

    def _prepare(self, numbers):
        """Compute missing columns of the response; columns are kept as long as there is room."""
        missing = numbers[self._places[numbers] < 0]
        if self._n_stored + len(missing) > len(self._columns):
            self._n_stored, missing = 0, numbers
            self._places[:] = -1
        places = np.arange(self._n_stored, self._n_stored + len(missing))
        self._columns[places] = self._response.columns(missing)
        self._places[missing] = places
        self._n_stored += len(missing)
