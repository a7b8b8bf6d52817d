"""The dual problem of a binary problem, over the samples of a training set:

    max  sum_k (alpha_k - D_k alpha_k^2 / 2) - |sum_k alpha_k l_k x_k|^2 / 2,    0 <= alpha_k <= u_k

with sum_k alpha_k l_k = 0 if the intercept is free. The squared hinge loss has D_k = 1 / (2 C_k) and no
upper bounds, the hinge loss D_k = 0 and u_k = C_k. A sample that is not in the problem has u_k = 0.

The product x.z is an inner product of features (`Features`) or a kernel value (`Gram`), plus rho^2 if
the intercept is penalised.
"""

import copy

import numpy as np
from scipy import sparse

from margins.solvers.rounding import EPSILON

# Added to D_k = 0, so that duplicates have one solution and ties are broken. It is relative to the
# median of |x|^2 without zero rows, or to |x_k|^2 if that is larger: one long sample does not blur the
# others.
RIDGE = 3e-11
# Distance from a bound that counts as rounding, relative to the largest dual variable.
ROUNDING = 1e-12


class Features:
    """Inner products of samples with few features, computed when they are needed."""

    def __init__(self, X, rho):
        self.X, self.rho = X, rho  # rho: the constant feature of a penalised intercept, or 0
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        self.feature_sqnorms = np.asarray(squares.sum(axis=1)).ravel()  # without the feature rho
        self.diagonal = self.feature_sqnorms + rho * rho  # x_k.x_k with it
        self.n_weights = X.shape[1]

    def rows(self, numbers):
        """Return x_j.x_k for some samples j and all samples k (ndarray of float64, shape (n_j, m))."""
        rows = self.X[numbers]
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return dense @ self.X.T + self.rho**2

    def products(self, coefficients):
        """Return x_k.w for all samples k and n vectors w = sum_j c_j x_j (ndarray, shape (n, m))."""
        constants = self.rho**2 * coefficients.sum(axis=1, keepdims=True)
        return self._weights(coefficients) @ self.X.T + constants

    def sqnorms(self, coefficients):
        """Return |w|^2 for n vectors w = sum_j c_j x_j (ndarray of float64, shape (n,))."""
        weights = self._weights(coefficients)
        return np.einsum("ij,ij->i", weights, weights) + (self.rho * coefficients.sum(axis=1)) ** 2

    def _weights(self, coefficients):
        return coefficients @ self.X


class Gram:
    """Inner products of samples as in `Features`, stored in a matrix that includes rho^2."""

    def __init__(self, matrix, rho=0.0):
        self.matrix, self.diagonal = matrix, matrix.diagonal().copy()
        self.feature_sqnorms = self.diagonal - rho * rho

    def rows(self, numbers):
        return self.matrix[numbers]

    def products(self, coefficients):
        used = np.flatnonzero(coefficients.any(axis=0))
        return coefficients[:, used] @ self.matrix[used]

    def sqnorms(self, coefficients):
        used = np.flatnonzero(coefficients.any(axis=0))
        part = coefficients[:, used]
        return np.einsum("ij,ij->i", part, part @ self.matrix[np.ix_(used, used)])


class BoxProblem:
    """The dual problem of a binary problem: l_k in `signs`, u_k in `upper`, D_k in `diag`."""

    def __init__(self, inner, signs, penalties, is_smooth, is_free):
        self.inner, self.signs, self.penalties = inner, signs, penalties  # 0: not in the problem
        self.is_smooth = is_smooth  # the squared hinge loss, not the hinge loss
        self.is_free = is_free  # the intercept is not penalised
        inside = penalties > 0
        self.upper = np.where(inside, np.inf, 0.0) if is_smooth else penalties
        self.diag = np.zeros(len(signs))
        if is_smooth:
            self.diag[inside] = 0.5 / penalties[inside]
        rounding = len(signs) * EPSILON * inner.diagonal  # in factors of the matrix
        lengths = np.maximum(inner.feature_sqnorms, _typical(inner.feature_sqnorms[inside]))
        spread = np.linspace(1, 2, len(signs))
        # D_k or, for the hinge loss, the small ridge that solutions use; no bound relies on it.
        self.ridge = self.diag + spread * np.maximum(RIDGE * lengths, rounding)
        if is_smooth:  # D_k suffices
            self.ridge[inside] = self.diag[inside]

    def __len__(self):
        return len(self.signs)

    def without(self, group):
        """Return the problem without some samples, whose upper bounds become 0 (BoxProblem)."""
        other, penalties = copy.copy(self), self.penalties.copy()
        penalties[group] = 0.0
        other.penalties, other.upper = penalties, self.upper.copy()
        other.upper[group] = 0.0
        return other

    def in_box(self, alpha):
        """Return alpha clipped to its bounds, and set to a bound that it has reached up to rounding."""
        rounding = ROUNDING * float(np.max(np.abs(alpha), initial=0.0))
        alpha = np.where(alpha <= rounding, 0.0, alpha)
        return np.where(alpha >= self.upper - rounding, self.upper, alpha)

    def signed_rows(self, numbers):
        """Return l_j l_k x_j.x_k for some samples j and all samples k (ndarray, shape (n_j, m))."""
        rows = self.inner.rows(numbers)
        rows *= self.signs
        rows *= self.signs[numbers][:, None]
        return rows

    def margins(self, alpha):
        """Return l_k w.x_k for all samples k and n vectors w = sum_j alpha_j l_j x_j, shape (n, m)."""
        return self.signs * self.inner.products(alpha * self.signs)


def _typical(sqnorms):
    """Return the median of the squared norms that are more than rounding next to the largest; else 1."""
    longer = sqnorms[sqnorms > EPSILON * sqnorms.max()]
    return np.median(longer) if len(longer) else 1.0
