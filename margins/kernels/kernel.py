"""Kernels: products in a feature space that nobody writes down.

A classifier with a kernel is known by its dual variables: ``score(x) = sum_k alpha_k l_k K(x_k, x) +
bias``. Here are the kernels themselves, as scikit-learn's SVC names them: between two sets of points
for predictions, and as the rows of a matrix (`margins.kernels._kernel`) for training.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from margins.data.binary_problem import LARGEST_SQNORM, check_lengths, rows_of
from margins.kernels._kernel import FunctionRows, GramRows, PolynomialRows, RadialRows, products

# What a block of kernel values may take, in bytes.
BLOCK = 2**25


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters settled.

    Attributes
    ----------
    name : "linear", "poly", "rbf", "precomputed" or callable
        A callable takes two matrices, shapes (i, d) and (j, d), and gives shape (i, j).
    degree : int
    gamma, coef0 : float
    """

    name: str | Callable
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    @classmethod
    def of(cls, estimator, X):
        """The kernel that an estimator's parameters ask for, with gamma settled for X."""
        if estimator.kernel not in ("poly", "rbf"):
            return cls(estimator.kernel)
        gamma = estimator.gamma
        if gamma == "auto":
            gamma = 1 / X.shape[1]
        elif gamma == "scale":
            gamma = _scale_of(X)
        return cls(estimator.kernel, int(estimator.degree), float(gamma), float(estimator.coef0))

    def between(self, X, Y):
        """K(x, y) of all pairs: ndarray of float64, shape (n_x, n_y)."""
        if not callable(self.name):
            return self._of_products(X, Y)
        result = self.name(X, Y)
        result = np.asarray(result.toarray() if sparse.issparse(result) else result, dtype=np.float64)
        if result.shape != (X.shape[0], Y.shape[0]) or not np.isfinite(result).all():
            raise ValueError(
                f"The kernel {self.name!r} must return a finite array of shape "
                f"{(X.shape[0], Y.shape[0])} for these two matrices. Got shape {result.shape}"
                f"{'' if np.isfinite(result).all() else ' with values that are not finite'}."
            )
        return result

    def _of_products(self, X, Y):
        if sparse.issparse(X) or sparse.issparse(Y):
            values = products(rows_of(X), rows_of(Y))
        else:
            values = np.asarray(X, dtype=np.float64) @ np.asarray(Y, dtype=np.float64).T
        if self.name == "poly":
            with np.errstate(over="ignore"):
                values *= self.gamma
                values += self.coef0
                values **= self.degree
        elif self.name == "rbf":
            values *= -2
            values += rows_of(X).sqnorms()[:, np.newaxis]
            values += rows_of(Y).sqnorms()
            np.maximum(values, 0, out=values)
            with np.errstate(over="ignore", under="ignore"):
                values *= -self.gamma
                np.exp(values, out=values)
        return values

    def rows(self, X, cache_size):
        """The rows of the kernel matrix of X.

        Parameters
        ----------
        X : ndarray or CSR matrix of float64 or float32, shape (m, d); (m, m) if precomputed
        cache_size : float
            Memory for rows, in megabytes.

        Returns
        -------
        margins.kernels._kernel.KernelRows

        Raises
        ------
        ValueError
            If a precomputed matrix is not square, if K(x, x) for some row is negative or too large, or
            if a row is too long for the distances of kernel "rbf".
        """
        if self.name == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "Precomputed kernel matrix of fit must be a square matrix. "
                    f"Got shape {X.shape[0]} x {X.shape[1]}."
                )
            diagonal = np.asarray(X.diagonal(), dtype=np.float64)
            rows = GramRows(rows_of(X), np.ascontiguousarray(diagonal))
        elif self.name == "poly":
            with np.errstate(over="ignore"):
                rows = PolynomialRows(rows_of(X), cache_size, self.degree, self.gamma, self.coef0)
        elif self.name == "rbf":
            points = rows_of(X)
            check_lengths(points.sqnorms())
            rows = RadialRows(points, cache_size, self.gamma)
        else:
            blocks = [X[batch] for batch in gen_batches(X.shape[0], 64)]
            diagonal = np.concatenate([np.diagonal(self.between(block, block)) for block in blocks])
            rows = FunctionRows(lambda indices: self.between(X[indices], X), diagonal, cache_size)
        diagonal = rows.sqnorms()
        strange = np.flatnonzero(~((diagonal >= 0) & (diagonal <= LARGEST_SQNORM)))
        if len(strange):
            raise ValueError(
                f"The kernel {self.name!r} must have K(x, x) in [0, {LARGEST_SQNORM:g}]. "
                f"Got {diagonal[strange[0]]:g} for sample {strange[0]}."
            )
        return rows

    def blocks(self, X, points, support):
        """The kernel matrix of the support and X, some rows of X at a time.

        Parameters
        ----------
        X : ndarray or CSR matrix, shape (n, d); (n, m) if precomputed
        points : ndarray or CSR matrix, shape (n_support, d)
            Not read if precomputed.
        support : ndarray of int, shape (n_support,)
            Indices in the training set.

        Yields
        ------
        slice, ndarray of float64, shape (n_support, n_block), contiguous
        """
        for batch in gen_batches(X.shape[0], max(1, BLOCK // (8 * max(len(support), 1)))):
            if len(support) == 0:
                block = np.empty((0, batch.stop - batch.start))
            elif self.name == "precomputed":
                block = X[batch][:, support].T
                block = block.toarray() if sparse.issparse(block) else block
            else:
                block = self.between(points, X[batch])
            yield batch, np.ascontiguousarray(block, dtype=np.float64)


LINEAR = Kernel("linear")


def _scale_of(X):
    """gamma="scale": 1 / (n_features * variance of all elements)."""
    with np.errstate(over="ignore", invalid="ignore"):  # X may be too large: then it is refused
        if sparse.issparse(X):
            X = X.astype(np.float64, copy=False)
            variance = X.multiply(X).mean() - X.mean() ** 2
        else:
            variance = X.var(dtype=np.float64)
    return 1 / (X.shape[1] * variance) if variance > 0 and math.isfinite(variance) else 1.0
