"""How a solution moves when one of its variables does, as long as no other changes sides.

Of the augmented margins sigma_k = l_k (w.x_k + b) + D_k alpha_k and the dual variables, one of each pair
is free to move and the other one is fixed: of a sample in F, a free support vector, alpha_k moves and
sigma_k = 1; of all others sigma_k moves, and alpha_k is at a bound. Column j of the response is the
derivative of what moves by what is fixed of sample j: the principal pivot transform of the matrix of

    sigma = M alpha + b l,    M_kj = l_k l_j x_k.x_j + D_k [k = j]

by F, with b such that sum_k l_k alpha_k stays 0 if the intercept is free.

`DualResponse` factorises M_FF; `PrimalResponse` the Hessian of the primal problem, which is smaller if
there are more free support vectors than features.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from margins.decremental.problem import Features


class DualResponse:
    """The response by a factor of M_FF.

    Parameters
    ----------
    problem : margins.decremental.problem.BoxProblem
    free : ndarray of int, shape (n_free,)
        The samples in F.

    Attributes
    ----------
    is_free_vector : ndarray of bool, shape (m,)
        True for the samples in F.

    Raises
    ------
    scipy.linalg.LinAlgError
        If M_FF is not positive definite in double precision.
    """

    def __init__(self, problem, free):
        self.problem, self.free = problem, free
        self.is_free_vector = np.zeros(len(problem), dtype=bool)
        self.is_free_vector[free] = True
        self._columns_of_free = problem.signed_columns(free)
        self._place = np.cumsum(self.is_free_vector) - 1
        matrix = self._columns_of_free[free]
        matrix[np.diag_indices(len(free))] += problem.ridge[free]
        self._factor = cho_factor(matrix, lower=True) if len(free) else None
        self._signs = problem.signs[free]
        if problem.is_free:
            self._shifted = self._solve(self._signs)
            self._curvature = float(self._signs @ self._shifted)

    def _solve(self, values):
        return cho_solve(self._factor, values) if len(self.free) else values

    def solve(self, values, imbalance=0.0):
        """alpha_F and b with M_FF alpha_F + b l_F = `values`, l_F.alpha_F = `imbalance`.

        Parameters
        ----------
        values : ndarray of float64, shape (n_free,) or (n_free, n_columns)
        imbalance : float or ndarray of float64, shape (n_columns,)

        Returns
        -------
        ndarray of float64, of the shape of `values`
        float or ndarray of float64, shape (n_columns,)
            b, 0 if the intercept is not free.
        """
        solution = self._solve(values)
        if not self.problem.is_free:
            return solution, np.zeros(solution.shape[1:])
        bias = (self._signs @ solution - imbalance) / self._curvature
        return solution - np.multiply.outer(self._shifted, bias), bias

    def columns(self, numbers):
        """Columns of the response: ndarray of float64, shape (m, n_j).

        Parameters
        ----------
        numbers : ndarray of intp, shape (n_j,)
        """
        columns, moves, bias = self._moves(numbers)
        outside = np.flatnonzero(~self.is_free_vector[numbers])
        columns += self._columns_of_free @ moves
        columns += np.multiply.outer(self.problem.signs, bias)
        columns[numbers[outside], outside] += self.problem.ridge[numbers[outside]]
        columns[self.free] = moves
        return columns

    def diagonal(self, numbers):
        """The diagonal of the response at some samples: ndarray of float64, shape (n_j,)."""
        columns, moves, bias = self._moves(numbers)
        places = np.arange(len(numbers))
        outside = columns[numbers, places] + self.problem.ridge[numbers]
        outside += np.einsum("ij,ji->i", self._columns_of_free[numbers], moves)
        outside += self.problem.signs[numbers] * bias
        is_free = self.is_free_vector[numbers]
        return np.where(is_free, moves[self._place[numbers], places], outside) if len(moves) else outside

    def _moves(self, numbers):
        """The columns of M of samples that are not in F, how alpha_F moves, and b."""
        is_free = self.is_free_vector[numbers]
        inside = np.flatnonzero(is_free)
        columns = self.problem.signed_columns(numbers)
        columns[:, inside] = 0.0
        values = -columns[self.free]
        values[self._place[numbers[inside]], inside] = 1.0
        moves, bias = self.solve(values, np.where(is_free, 0.0, -self.problem.signs[numbers]))
        return columns, moves, bias


class PrimalResponse:
    """The response by a factor of the Hessian, sum_k z_k z_k^T / D_k over F plus the identity.

    The last weight is that of the intercept, whose feature is rho, or, if it is free, 1: then it has no
    penalty. Parameters, attributes and methods as of `DualResponse`.
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
        self._factor = cho_factor(hessian, lower=True)

    def _combined(self, values, indices):
        """sum_k v_k z_k over some samples."""
        sums = self.problem.inner.X[indices].T @ values
        return np.concatenate([sums, self._constant * values.sum(axis=0, keepdims=True)])

    def _products(self, weights, indices=slice(None)):
        """z_k.w of some samples."""
        return self.problem.inner.X[indices] @ weights[:-1] + self._constant * weights[-1]

    def solve(self, values, imbalance=0.0):
        """See `DualResponse.solve`."""
        problem, free = self.problem, self.free
        scale = (problem.signs / problem.ridge)[free]
        if values.ndim > 1:
            scale = scale[:, None]
        sums = self._combined(scale * values, free)
        if problem.is_free:
            sums[-1] -= imbalance
        weights = cho_solve(self._factor, sums)
        signed = problem.signs[free].reshape(scale.shape) * values
        solution = scale * (signed - self._products(weights, free))
        return solution, weights[-1] if problem.is_free else np.zeros(values.shape[1:])

    def columns(self, numbers):
        """See `DualResponse.columns`."""
        problem, free = self.problem, self.free
        is_free = self.is_free_vector[numbers]
        columns = self._products(cho_solve(self._factor, self._points(numbers)))
        columns *= problem.signs[:, None]
        columns *= problem.signs[numbers] / np.where(is_free, problem.ridge[numbers], 1.0)
        columns[free] /= -problem.ridge[free][:, None]
        diagonal = np.where(is_free, 1 / problem.ridge[numbers], problem.ridge[numbers])
        columns[numbers, np.arange(len(numbers))] += diagonal
        return columns

    def diagonal(self, numbers):
        """See `DualResponse.diagonal`."""
        points, ridge = self._points(numbers), self.problem.ridge[numbers]
        values = np.einsum("ij,ij->j", points, cho_solve(self._factor, points))
        return np.where(self.is_free_vector[numbers], (1 - values / ridge) / ridge, ridge + values)

    def _points(self, numbers):
        """z_j of some samples: ndarray of float64, shape (n + 1, n_j)."""
        rows = self.problem.inner.X[numbers]
        rows = (rows.toarray() if sparse.issparse(rows) else rows).T
        return np.vstack([rows, np.full((1, len(numbers)), self._constant)])


def response_of(problem, free):
    """The response of a solution with these free support vectors: DualResponse or PrimalResponse.

    Parameters as of `DualResponse`.
    """
    inner = problem.inner
    if problem.is_smooth and isinstance(inner, Features) and len(free) > inner.n_weights + 1:
        return PrimalResponse(problem, free)
    return DualResponse(problem, free)
