"""The path from a solution to the solution without some samples.

Their dual variables are lowered to 0 together, and all others follow linearly, until one of them reaches
a bound and its sample changes sides: a free support vector leaves F, or a sample enters it. Only a few
samples are near a bound; the path is followed over these (`margins.decremental._paths`), and if others
turn out to have passed theirs, it is followed again with them. Many paths are followed side by side, and
the columns of the response that they need are computed together.

Source: Cauwenberghs & Poggio (2000), section 3: decremental unlearning.
"""

from typing import NamedTuple

import numpy as np

from margins.decremental._paths import Beginning, Path
from margins.decremental._pivots import FREE, GONE, UPPER, ZERO

# How many samples a round adds to those that a path is followed over: the first to reach their bounds.
N_NEAR = 32
# More samples, pivots or rounds take as long as a fit.
MAX_NEAR = 512
MAX_PIVOTS = 400
MAX_ROUNDS = 30
# A variable has passed a bound if it is beyond it by this share of its unit: the margin 1, or the
# largest dual variable.
ROUNDING = 1e-9
# Memory for columns of the response, which paths share.
MAX_BYTES = 2**25


class End(NamedTuple):
    """The end of a path.

    Attributes
    ----------
    sides : ndarray of int8, shape (m,)
        ZERO, FREE, UPPER or GONE; GONE for the group.
    alpha : ndarray of float64, shape (m,)
        The dual variables of the solution without the group.
    directions : ndarray of float64, shape (n_group, m)
        How they move if that of a sample of the group is lowered further.
    """

    sides: np.ndarray
    alpha: np.ndarray
    directions: np.ndarray


class Paths:
    """Paths that begin at one solution.

    Parameters
    ----------
    solution : margins.decremental.solution.Solution
        If it has passed bounds, paths begin beside it, and lead to a solution as well.
    beside : (ndarray of float64, shape (m,), ndarray of float64, shape (m,)), optional
        alpha and sigma there; None: where no bound is passed.
    """

    def __init__(self, solution, beside=None):
        problem, self._response = solution.problem, solution.response
        m, upper, is_free = len(problem), problem.upper, self._response.is_free_vector
        sides = np.select([is_free, upper == 0, solution.alpha > 0], [FREE, GONE, UPPER], ZERO)
        moving = np.where(is_free, solution.alpha, solution.sigma)
        lowest = np.select([sides == FREE, sides == ZERO], [0.0, 1.0], -np.inf)
        highest = np.select([sides == FREE, sides == UPPER], [upper, 1.0], np.inf)
        start = moving if beside is None else np.where(is_free, *beside)
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
        """The ends of the paths to the solutions without the samples of each group.

        Parameters
        ----------
        groups : list of ndarray of intp

        Returns
        -------
        list of End or None
            None: the path is too long, or the response singular in double precision.
        """
        ends, near = [None] * len(groups), [self._first_near(group) for group in groups]
        waiting = range(len(groups))
        for _ in range(MAX_ROUNDS):
            waiting = [number for number in waiting if len(near[number]) <= MAX_NEAR]
            if not waiting:
                break
            waiting = self._follow(waiting, groups, near, ends)
        return ends

    def _first_near(self, group):
        """The group and, if the intercept is free and the group holds all free support vectors, the
        samples nearest to a bound."""
        response = self._response
        if not self._needs_free or response.is_free_vector[group].sum() < len(response.free):
            return group
        distances = self._distances.copy()
        distances[group] = np.inf
        nearest = np.argsort(distances)[:N_NEAR]
        return np.concatenate([group, nearest[distances[nearest] < np.inf]])

    def _follow(self, numbers, groups, near, ends):
        """Follow some paths over the samples near, and set their ends. Return the numbers of those that
        have passed bounds of other samples, which are near from then on."""
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
        """Compute columns of the response, which are kept as long as there is room."""
        missing = numbers[self._places[numbers] < 0]
        if self._n_stored + len(missing) > len(self._columns):
            self._n_stored, missing = 0, numbers
            self._places[:] = -1
        places = np.arange(self._n_stored, self._n_stored + len(missing))
        self._columns[places] = self._response.columns(missing)
        self._places[missing] = places
        self._n_stored += len(missing)
