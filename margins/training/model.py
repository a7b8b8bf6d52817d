"""Models: what predicts, made of runs that have ended, or of the fitted attributes of a classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margins.kernels.kernel import Kernel


class LinearModel(NamedTuple):
    """Weight vectors and intercepts.

    Attributes
    ----------
    coef : ndarray of float64, shape (n_problems, n_features)
    intercept : ndarray of float64, shape (n_problems,)
    """

    coef: np.ndarray
    intercept: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples: ndarray of float64, shape (n, n_problems)."""
        return X @ self.coef.T + self.intercept


class KernelModel(NamedTuple):
    """Sums over support vectors.

    Attributes
    ----------
    kernel : margins.kernels.Kernel
    support_vectors : ndarray or CSR matrix, shape (n_support, n_features)
        Empty if the kernel is precomputed.
    support : ndarray of int, shape (n_support,)
        Their indices among the samples.
    dual_coef : ndarray of float64, shape (n_problems, n_support)
        Dual variables, signed by the labels and scaled.
    intercept : ndarray of float64, shape (n_problems,)
    """

    kernel: Kernel
    support_vectors: Any
    support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples: ndarray of float64, shape (n, n_problems)."""
        scores = np.empty((X.shape[0], len(self.intercept)))
        for batch, products in self.kernel.blocks(X, self.support_vectors, self.support):
            scores[batch] = products.T @ self.dual_coef.T + self.intercept
        return scores


Model = LinearModel | KernelModel


def scale_of(run: Any, specification: Any) -> float:
    """Return the factor from the hypothesis of a run to its model."""
    fixed = specification.model_scale
    return run.primal_scale if fixed is None else fixed


def intercept_of(run: Any, specification: Any) -> float:
    """Return the intercept of the model of a run."""
    scale = scale_of(run, specification)
    return scale * (run.data.sqrho * run.hypothesis.label_sum - run.theta)


def model_of(runs: list[Any], specification: Any, training_set: Any) -> Model:
    """Return the model of runs that have ended.

    Parameters
    ----------
    runs : list
        One for each binary problem: Run, Stream, or another object with their `data`, `theta`,
        `hypothesis` and, unless the specification has a scale, `primal_scale`.
    specification : margins.training.specification.Specification
    training_set : margins.training.training_set.TrainingSet
        Only of fits with a kernel more than `is_kernel` is read.

    Returns
    -------
    LinearModel or KernelModel
    """
    models = [(run, run.hypothesis, scale_of(run, specification)) for run in runs]
    intercept = np.array([intercept_of(run, specification) for run in runs])
    if not training_set.is_kernel:
        return LinearModel(np.array([scale * model.weights for _, model, scale in models]), intercept)
    signed = np.stack([scale * run.data.signs * model.dual for run, model, scale in models])
    support = np.flatnonzero(signed.any(axis=0))
    vectors, indices = training_set.support(support)
    return KernelModel(training_set.kernel, vectors, indices, signed[:, support], intercept)
