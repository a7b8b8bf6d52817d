"""Solutions of small problems, by code that is independent of the kernels."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear


class Problem(NamedTuple):
    """A binary problem."""

    X: NDArray[np.float64]  # float64, shape (m, d)
    y: NDArray[np.int64]  # int, shape (m,): labels -1 and +1
    C: float  # penalty; inf: the hard margin

    def data(self, rho: float, extended: bool = False) -> NDArray[np.float64]:
        """Return y_k [x_k, rho], with one slack feature each if `extended`: ndarray, shape (m, .)."""
        column = np.full((len(self.y), 1), rho)
        data: NDArray[np.float64] = self.y[:, None] * np.hstack([self.X, column])
        if extended and np.isfinite(self.C):
            data = np.hstack([data, np.eye(len(self.y)) / np.sqrt(2 * self.C)])
        return data


def maximum_margin(data: NDArray[np.float64]) -> float:
    """Return the distance of the origin from the convex hull of the y_k; 0.0 if not separable.

    The hull's nearest point is sum_k alpha_k y_k / sum_k alpha_k for the alpha >= 0 that minimises
    |sum_k alpha_k y_k|^2 + R^2 (sum_k alpha_k - 1)^2. Raise ArithmeticError if weak duality does not
    confirm the result.
    """
    radius = float(np.linalg.norm(data, axis=1).max())
    system = np.vstack([data.T, np.full(len(data), radius)])
    target = np.append(np.zeros(data.shape[1]), radius)
    # Not scipy.optimize.nnls: SciPy 1.15 to 1.17 get about one small problem in a thousand wrong.
    alpha = lsq_linear(
        system, target, bounds=(0, np.inf), method="bvls", tol=1e-15, max_iter=100 * len(data)
    ).x
    nearest = alpha @ data / alpha.sum()
    gamma = float(np.linalg.norm(nearest))
    if gamma < 1e-9 * radius:
        return 0.0
    achieved = float((data @ nearest).min()) / gamma
    if achieved < (1 - 1e-6) * gamma:  # weak duality: achieved <= maximum margin <= gamma
        raise ArithmeticError(f"The maximum margin is between {achieved} and {gamma}.")
    return gamma


def least_objective(
    data: NDArray[np.float64], weights: NDArray[np.float64], C: float, loss: str
) -> float:
    """Return the least `objective` of c w over c >= 0."""
    products, sqnorm = data @ weights, float(weights @ weights)
    if np.isinf(C):
        return 0.5 * sqnorm / products.min() ** 2 if products.min() > 0 else np.inf
    # Between the points 1 / p_k the objective is a parabola: the minimum is a vertex or one of the
    # points.
    scales = [0.0]
    for p in (np.inf, *products[products > 0]):
        loses = products[products < p]
        if loss == "hinge":
            slope, curvature = C * loses.sum(), sqnorm
        else:
            slope, curvature = 2 * C * loses.sum(), sqnorm + 2 * C * (loses**2).sum()
        scales.append(max(slope / curvature, 0.0) if curvature > 0 else 0.0)
        scales.append(1 / p)
    power = 1 if loss == "hinge" else 2
    return float(
        min(0.5 * c**2 * sqnorm + C * np.sum(np.maximum(1 - c * products, 0) ** power) for c in scales)
    )


def objective(data: NDArray[np.float64], weights: NDArray[np.float64], C: float, loss: str) -> float:
    """Return the objective of w, for y_k without slack features; C inf: inf if some w.y_k is below 1."""
    products, sqnorm = data @ weights, float(weights @ weights)
    if np.isinf(C):
        return float(0.5 * sqnorm) if products.min() >= 1 - 1e-9 else np.inf
    slacks = np.maximum(1 - products, 0)
    return float(0.5 * sqnorm + C * np.sum(slacks if loss == "hinge" else slacks**2))


def problems() -> Iterator[Problem]:
    """Yield small random problems, separable or not, with integers or reals, and C = 1, 100 or inf."""
    for seed in range(9):
        rng = np.random.default_rng(seed)
        m, d = int(rng.integers(6, 11)), int(rng.integers(1, 4))
        X = rng.integers(-4, 5, (m, d)).astype(float)
        if seed % 2:
            X += rng.normal(scale=0.3, size=(m, d))
        by_plane = X @ rng.normal(size=d) + rng.normal() > 0
        positive = by_plane if seed % 4 < 2 else rng.random(m) < 0.5
        positive[:2] = True, False
        yield Problem(X, np.where(positive, 1, -1), (1.0, np.inf, 100.0)[seed % 3])


def separable_problem(C: float) -> Problem:
    """Return twenty samples in three dimensions, with a gap between the classes."""
    rng = np.random.default_rng(3)
    y = np.where(np.arange(20) % 2, 1, -1)
    X = rng.normal(size=(20, 3))
    X[:, 0] = y * (1 + np.abs(X[:, 0]))
    return Problem(X, y, C)


def clouds(n_classes: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return overlapping normal clouds: X, exact in float32, and y, the codes 0 .. n_classes - 1."""
    rng = np.random.default_rng(0)
    y = np.arange(48) % n_classes
    X = 1.5 * rng.normal(size=(n_classes, 4))[y] + rng.normal(size=(48, 4))
    return X.astype(np.float32).astype(float), y
