"""The path from a solution to the solution without some samples.

Their dual variables are lowered to 0 together, and all others follow linearly, until one of them reaches
a bound and its sample changes sides: a free support vector leaves F, or a sample enters it
(`margins.decremental._pivots`). Only a few samples are near a bound; the path is followed over these,
and if others turn out to have passed theirs, it is followed again with them.

At its end all variables follow from the sides alone: of the samples C that are in F and were not, or
were and are not, the fixed and the moving variables have swapped roles,

    moves = T_C x + T_G f,    moves_C given,

with the response T of the solution where the path began and the changes f of what is fixed. That is a
system as small as there are changes.

Source: Cauwenberghs & Poggio (2000), section 3: decremental unlearning.
"""

from typing import NamedTuple

import numpy as np

from margins.decremental._pivots import FREE, UPPER, ZERO, follow

# A path is followed over the samples that would reach a bound first, these many, or within its length;
# and over those that have passed one all the same.
N_NEAR = 32
# More samples, pivots or rounds take as long as a fit.
MAX_NEAR = 512
MAX_PIVOTS = 400
MAX_ROUNDS = 30
# By how much a variable must pass a bound to count, of the margin 1 and of the largest dual variable.
ROUNDING = 1e-9
# Memory for columns of the response, which paths share.
MAX_BYTES = 2**25


class End(NamedTuple):
    """The end of a path.

    Attributes
    ----------
    sides : ndarray of int8, shape (m,)
        ZERO, FREE or UPPER; ZERO for the group.
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
        self._response, self._upper = solution.response, solution.problem.upper
        self._alpha, self._inside = solution.alpha, self._upper > 0
        self._needs_free = solution.problem.is_free
        self._sizes = solution.problem.inner.diagonal + solution.problem.ridge
        self._is_free = solution.response.is_free_vector
        self._sides = np.where(self._is_free, FREE, np.where(self._alpha > 0, UPPER, ZERO)).astype(
            np.int8
        )
        self._moving = np.where(self._is_free, self._alpha, solution.sigma)
        self._fixed = np.where(self._is_free, solution.sigma, self._alpha)
        self._largest = float(self._alpha.max())
        at_upper = self._sides == UPPER
        self._lowest = np.where(self._is_free, 0.0, np.where(at_upper | ~self._inside, -np.inf, 1.0))
        self._highest = np.where(self._is_free, self._upper, np.where(at_upper, 1.0, np.inf))
        start = self._moving if beside is None else np.where(self._is_free, *beside)
        self._excess = self._moving - np.clip(start, self._lowest, self._highest)
        self._excess[np.abs(self._excess) <= np.where(self._is_free, self._largest, 1.0) * ROUNDING] = (
            0.0
        )
        m = len(self._alpha)
        self._columns = np.empty((min(m, max(2 * MAX_NEAR, MAX_BYTES // (8 * m))), m))
        self._n_stored, self._place = 0, np.full(m, -1)

    def without(self, group):
        """The end of the path to the solution without some samples.

        Parameters
        ----------
        group : ndarray of int, shape (n_group,)

        Returns
        -------
        End or None
            None: the path is too long, or the response singular in double precision.
        """
        sides = self._sides.copy()
        sides[group] = ZERO
        is_near = np.zeros(len(sides), dtype=bool)
        is_near[group] = True
        near = group
        try:
            for _ in range(MAX_ROUNDS):
                if near is group and self._is_last(group):
                    first = self._nearest(~is_near)
                else:
                    alpha, sigma = self._variables(sides)
                    passed = self._passed(alpha, sigma, sides)
                    passed[group] = False
                    if not passed.any():
                        alpha[group] = 0.0
                        return End(sides, alpha, self._directions(sides, group))
                    if not (passed & ~is_near).any():
                        # Pivots of near duplicates are rounded: a step of Newton's method instead.
                        sides = self._crossed(sides, alpha, passed)
                        continue
                    others = ~is_near if near is group else passed & ~is_near
                    first = self._first(alpha, sigma, others)
                is_near[first] = True
                near = np.concatenate([near, first])
                sides = self._followed(near, len(group)) if len(near) <= MAX_NEAR else None
                if sides is None:
                    return None
        except np.linalg.LinAlgError:
            pass  # as of a path that is too long
        return None

    def _is_last(self, group):
        """True if no sample is in F without the group, but a free intercept needs one."""
        return self._needs_free and not self._is_free.sum() > self._is_free[group].sum()

    def _nearest(self, candidates):
        """Those of the candidates whose moving variable is nearest to a bound: ndarray of intp."""
        distances = np.minimum(self._moving - self._lowest, self._highest - self._moving)
        return _smallest(distances, np.flatnonzero(candidates & self._inside))

    def _followed(self, near, n_group):
        """The sides at the end of the path over some samples, the group first; None if it is left."""
        sides, moving, upper = self._sides[near], self._moving[near], self._upper[near]
        lowered = np.where(sides == FREE, moving, self._alpha[near])[:n_group]
        self.prepare(near)
        sizes = self._sizes[near]
        response = self._columns[self._place[near], near[:, None]]
        if self._excess.any():
            # One more variable: while it is lowered from 1 to 0, the others go where the solution is.
            response = np.pad(response, (1, 0))
            response[1:, 0], response[0, 0] = -self._excess[near], 1.0
            moving, sides = np.append(0.0, moving - self._excess[near]), np.append(ZERO, sides)
            upper, lowered = np.append(1.0, upper), np.append(1.0, lowered)
            sizes = np.append(1.0, sizes)
        sides, rates = sides.astype(np.int8), np.empty(len(moving))
        if follow(response, moving, sides, upper, sizes, lowered, rates, MAX_PIVOTS) < 0:
            return None
        result = self._sides.copy()
        result[near] = sides[len(sides) - len(near) :]
        result[near[:n_group]] = ZERO
        return result

    def prepare(self, numbers):
        """Compute columns of the response, many of which are kept.

        Parameters
        ----------
        numbers : ndarray of intp
        """
        missing = numbers[self._place[numbers] < 0]
        if len(missing) == 0:
            return
        if self._n_stored + len(missing) > len(self._columns):
            self._n_stored, missing = 0, numbers
            self._place[:] = -1
        places = np.arange(self._n_stored, self._n_stored + len(missing))
        self._columns[places] = self._response.columns(missing).T
        self._place[missing] = places
        self._n_stored += len(missing)

    def _columns_of(self, numbers):
        """Columns of the response: ndarray of float64, shape (n, m)."""
        self.prepare(numbers)
        return self._columns[self._place[numbers]]

    def _variables(self, sides):
        """alpha and sigma where all samples are on these sides: ndarrays of float64, shape (m,)."""
        pushed, swapped = self._differences(sides)
        bounds = np.where(sides == UPPER, self._upper, 0.0)
        moves, changes = self._response_to(
            pushed,
            bounds[pushed] - self._alpha[pushed],
            swapped,
            np.where(self._is_free, bounds, 1.0)[swapped] - self._moving[swapped],
        )
        return self._alpha_and_sigma(self._moving + moves, self._fixed + changes)

    def _differences(self, sides):
        """The samples whose dual variable is at another bound than at the beginning of the paths, and
        those that are in F and were not, or were and are not."""
        was_free, is_free = self._is_free, sides == FREE
        pushed = np.flatnonzero(~was_free & ~is_free & (sides != self._sides))
        return pushed, np.flatnonzero(was_free != is_free)

    def _response_to(self, pushed, forces, swapped, required):
        """How all variables change, the moving and the fixed ones, if the fixed ones of some samples
        change by `forces`, and the moving ones of others are to change as `required`."""
        moves, changes = np.zeros(len(self._alpha)), np.zeros(len(self._alpha))
        if len(pushed):
            moves += forces @ self._columns_of(pushed)
            changes[pushed] = forces
        if len(swapped):
            columns = self._columns_of(swapped)
            changes[swapped] = np.linalg.solve(columns[:, swapped].T, required - moves[swapped])
            moves += changes[swapped] @ columns
            moves[swapped] = required
        return moves, changes

    def _alpha_and_sigma(self, moving, fixed):
        return np.where(self._is_free, moving, fixed), np.where(self._is_free, fixed, moving)

    def _passed(self, alpha, sigma, sides):
        """True for the samples that are not where their side says: ndarray of bool, shape (m,)."""
        is_free, rounding = sides == FREE, ROUNDING * self._largest
        passed = is_free & ((alpha < -rounding) | (alpha > self._upper + rounding))
        passed |= (sides == ZERO) & self._inside & (sigma < 1 - ROUNDING)
        passed |= (sides == UPPER) & (sigma > 1 + ROUNDING)
        return passed

    def _crossed(self, sides, alpha, passed):
        """The sides with those of samples that have passed a bound changed: ndarray of int8."""
        at_bound = np.where(alpha > 0.5 * self._upper, UPPER, ZERO)
        return np.where(passed, np.where(sides == FREE, at_bound, FREE), sides).astype(np.int8)

    def _first(self, alpha, sigma, candidates):
        """Those of the candidates that would reach a bound first on the way to these variables."""
        start = self._moving - self._excess
        moves = np.where(self._is_free, alpha, sigma) - start
        bounds = np.where(moves > 0, self._highest, self._lowest)
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = (bounds - start) / moves
        return _smallest(lengths, np.flatnonzero(candidates & (lengths < np.inf)))

    def _directions(self, sides, group):
        """How alpha moves if that of each sample of the group is lowered: ndarray, (n_group, m)."""
        _, swapped = self._differences(sides)
        directions = np.empty((len(group), len(sides)))
        for place, number in enumerate(group):
            pushed = np.array([] if self._is_free[number] else [number], dtype=np.intp)
            moves = self._response_to(pushed, -np.ones(len(pushed)), swapped, -1.0 * (swapped == number))
            directions[place], _ = self._alpha_and_sigma(*moves)
        directions[:, group] = 0.0
        return directions


def _smallest(values, numbers):
    """The `N_NEAR` numbers of the smallest values: ndarray of intp."""
    if len(numbers) <= N_NEAR:
        return numbers
    return numbers[np.argpartition(values[numbers], N_NEAR)[:N_NEAR]]
