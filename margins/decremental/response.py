"""The response of a solution: how it moves when one of its variables moves and no sample changes sides.

Each sample has two variables: the dual variable alpha_k and the augmented margin sigma_k =
l_k (w.x_k + b) + D_k alpha_k. One of them moves and the other is fixed. If the sample is in F, a free
support vector, alpha_k moves and sigma_k = 1. Otherwise sigma_k moves and alpha_k is at a bound. Column
j of the response is the derivative of all moving variables with respect to the fixed variable of sample
j. The response is the principal pivot transform by F of the matrix of

    sigma = M alpha + b l,    M_kj = l_k l_j x_k.x_j + D_k [k = j]

where b keeps sum_k l_k alpha_k at 0 if the intercept is free.

`DualResponse` factorises M_FF. `PrimalResponse` factorises the Hessian of the primal problem, which is
smaller if there are more free support vectors than features.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from margins.decremental.problem import Features
from margins.solvers.rounding import EPSILON


class DualResponse:
    """The response, computed from a factor of M_FF; a LinAlgError if M_FF is not positive definite."""

    def __init__(self, problem, free):
        self.problem, self.free = problem, free
        self.is_free_vector = np.zeros(len(problem), dtype=bool)
        self.is_free_vector[free] = True
        self._place = np.cumsum(self.is_free_vector) - 1
        self._rows_of_free = problem.signed_rows(free)
        matrix = self._rows_of_free[:, free]
        matrix[np.diag_indices(len(free))] += problem.ridge[free]
        if problem.is_smooth:
            matrix[np.diag_indices(len(free))] *= 1 + len(problem) * EPSILON
        self._factor = cho_factor(matrix, lower=True) if len(free) else None
        if problem.is_free:
            self._shifted = self._solve(problem.signs[free])
            self._curvature = float(problem.signs[free] @ self._shifted)

    def _solve(self, values):
        return cho_solve(self._factor, values) if len(self.free) else values

    def solve(self, values, imbalance=0.0):
        """Return the solution of M_FF alpha_F + b l_F = `values`, l_F.alpha_F = `imbalance`."""
        if not self.problem.is_free:
            return self._solve(values), 0.0
        bias = (self._shifted @ values - imbalance) / self._curvature
        return self._solve(values) - self._shifted * bias, float(bias)

    def columns(self, numbers):
        """Return columns of the response, one in each row (ndarray of float64, shape (n_j, m))."""
        moves, bias = self._moves(numbers)
        outside = np.flatnonzero(~self.is_free_vector[numbers])
        columns = moves @ self._rows_of_free
        columns[outside] += self.problem.signed_rows(numbers[outside])
        columns[outside, numbers[outside]] += self.problem.ridge[numbers[outside]]
        columns += np.multiply.outer(bias, self.problem.signs)
        columns[:, self.free] = moves
        return columns

    def columns_of_free(self, numbers):
        """Return how alpha_F moves in columns of the response (ndarray, shape (n_j, n_free))."""
        return self._moves(numbers)[0]

    def diagonal(self, numbers):
        """Return the diagonal of the response for some samples (ndarray of float64, shape (n_j,))."""
        values, imbalance = self._right_hand_sides(numbers)
        squares = np.zeros(len(numbers))
        if len(self.free):
            # If all are in F, the values before the first of them are 0, and remain 0.
            first = self._place[numbers].min() if self.is_free_vector[numbers].all() else 0
            factor, values_behind = self._factor[0][first:, first:], values[:, first:]
            halves = solve_triangular(factor, values_behind.T, lower=True, check_finite=False)
            squares += np.einsum("ij,ij->j", halves, halves)
        if self.problem.is_free:
            squares -= (values @ self._shifted - imbalance) ** 2 / self._curvature
        outside = self.problem.inner.diagonal[numbers] + self.problem.ridge[numbers] - squares
        return np.where(self.is_free_vector[numbers], squares, outside)

    def _moves(self, numbers):
        """Return how alpha_F moves, shape (n_j, n_free), and how b moves, shape (n_j,)."""
        values, imbalance = self._right_hand_sides(numbers)
        moves, bias = self._solve(values.T).T, np.zeros(len(numbers))
        if self.problem.is_free:
            bias = (values @ self._shifted - imbalance) / self._curvature
            moves = moves - np.multiply.outer(bias, self._shifted)
        return moves, bias

    def _right_hand_sides(self, numbers):
        """Return the right-hand sides of `solve` for columns: rows of `values`, and `imbalance`."""
        is_free = self.is_free_vector[numbers]
        inside = np.flatnonzero(is_free)
        values = -self._rows_of_free.T[numbers]
        values[inside] = 0.0
        values[inside, self._place[numbers[inside]]] = 1.0
        return values, np.where(is_free, 0.0, -self.problem.signs[numbers])


class PrimalResponse:
    """The response, computed from a factor of the Hessian, I + sum_k z_k z_k^T / D_k over F.

    The last weight is the weight of the intercept. Its feature is rho, or 1 if the intercept is free,
    which then has no penalty. Parameters, attributes and methods are the same as in `DualResponse`.
    """

    def __init__(self, problem, free):
        self.problem, self.free = problem, free
        self.is_free_vector = np.zeros(len(problem), dtype=bool)
        self.is_free_vector[free] = True
        self._constant = 1.0 if problem.is_free else problem.inner.rho
        n, features = problem.inner.n_weights, problem.inner.X[free]
        scale = 1 / problem.ridge[free]
        hessian = np.zeros((n + 1, n + 1))
        if sparse.issparse(features):
            hessian[:n, :n] = (features.T @ features.multiply(scale[:, None])).toarray()
        else:
            scaled = features * np.sqrt(scale)[:, None]
            hessian[:n, :n] = scaled.T @ scaled
        hessian[:n, n] = hessian[n, :n] = self._constant * (features.T @ scale)
        hessian[n, n] = self._constant**2 * scale.sum()
        hessian[np.diag_indices(n + (not problem.is_free))] += 1.0
        hessian[np.diag_indices(n + 1)] *= 1 + len(problem) * EPSILON
        self._factor = cho_factor(hessian, lower=True)

    def solve(self, values, imbalance=0.0):
        problem, free = self.problem, self.free
        scaled = (problem.signs / problem.ridge)[free] * values
        sums = np.append(scaled @ problem.inner.X[free], self._constant * scaled.sum())
        if problem.is_free:
            sums[-1] -= imbalance
        weights = cho_solve(self._factor, sums)
        products = problem.inner.X[free] @ weights[:-1] + self._constant * weights[-1]
        solution = (values - problem.signs[free] * products) / problem.ridge[free]
        return solution, float(weights[-1]) if problem.is_free else 0.0

    def columns(self, numbers):
        problem = self.problem
        is_free, ridge = self.is_free_vector[numbers], problem.ridge[numbers]
        weights = cho_solve(self._factor, self._points(numbers).T).T
        columns = weights[:, :-1] @ problem.inner.X.T + self._constant * weights[:, -1:]
        columns *= np.where(self.is_free_vector, -1 / problem.ridge, 1.0) * problem.signs
        columns *= (problem.signs[numbers] / np.where(is_free, ridge, 1.0))[:, None]
        columns[np.arange(len(numbers)), numbers] += np.where(is_free, 1 / ridge, ridge)
        return columns

    def columns_of_free(self, numbers):
        return self.columns(numbers)[:, self.free]

    def diagonal(self, numbers):
        points, ridge = self._points(numbers), self.problem.ridge[numbers]
        values = np.einsum("ij,ji->i", points, cho_solve(self._factor, points.T))
        return np.where(self.is_free_vector[numbers], (1 - values / ridge) / ridge, ridge + values)

    def _points(self, numbers):
        """Return z_j for some samples (ndarray of float64, shape (n_j, n + 1))."""
        rows = self.problem.inner.X[numbers]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return np.column_stack([rows, np.full(len(numbers), self._constant)])


def response_of(problem, free):
    """Return the response of a solution with these free support vectors."""
    inner = problem.inner
    if problem.is_smooth and isinstance(inner, Features) and len(free) > inner.n_weights + 1:
        return PrimalResponse(problem, free)
    return DualResponse(problem, free)
