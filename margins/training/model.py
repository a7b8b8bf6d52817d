"""The model of a fit, from the outcomes of its binary problems."""

from typing import Any, NamedTuple

import numpy as np

from margins.data.binary_data import is_sparse
from margins.kernels.kernel import Kernel
from margins.linalg.threads import current_team, one_thread_for
from margins.solvers.outcome import Outcome
from margins.training.schemes import Scheme


class LinearModel(NamedTuple):
    """Model of weight vectors and intercepts."""

    coef: Any  # ndarray or CSR matrix of float64, shape (n_problems, n_features)
    intercept: np.ndarray  # shape (n_problems,)

    def scores(self, X: Any) -> np.ndarray:
        """Return the scores of validated samples (ndarray of float64, shape (n, n_problems))."""
        with one_thread_for(X.shape[0] * self.coef.size):
            scores = X @ self.coef.T
        return (scores.toarray() if is_sparse(scores) else scores) + self.intercept


class KernelModel(NamedTuple):
    """Model of sums over support vectors."""

    kernel: Kernel
    # ndarray or CSR matrix, shape (n_support, n_features): empty if the kernel is precomputed.
    support_vectors: Any
    # shape (n_support,): indices of the support vectors among the samples, ordered by class.
    support: np.ndarray
    # shape (n_support,): classes of the support vectors, for problems of pairs.
    codes: np.ndarray | None
    # shape (n_problems, n_support): dual variables, signed by the labels and scaled; for pairs in the
    # layout of `OneVsOne`.
    dual_coef: np.ndarray
    intercept: np.ndarray  # shape (n_problems,)
    scheme: Scheme

    def scores(self, X: Any) -> np.ndarray:
        """Return the same; the current team shares the samples."""
        scores = np.empty((X.shape[0], len(self.intercept)))

        def fill(batch):
            products = self.kernel.support_block(X[batch], self.support_vectors, self.support)
            with one_thread_for(products.size):
                sums = self.scheme.sums(products, self.dual_coef, self.codes)
            scores[batch] = sums + self.intercept

        current_team().map(fill, self.kernel.batches(X.shape[0], len(self.support)))
        return scores


Model = LinearModel | KernelModel


def model_of(
    outcomes: list[Outcome], specification: Any, training_set: Any, is_packed: bool = False
) -> Model:
    """Return the model of one or of all binary problems of a training set.

    `is_packed`: a linear model has only the weights of the features that the training set has kept.
    """
    scheme = training_set.scheme
    absent = training_set.samples.absent if len(outcomes) == scheme.n_problems else ()
    intercept = np.array([outcome.intercept(training_set.centre) for outcome in outcomes])
    scheme.set_absent(intercept, absent, 1.0)
    if not training_set.is_kernel:
        # Fill one row at a time, so that memory never holds a copy of all weights.
        n_features, columns = len(outcomes[0].hypothesis.weights), slice(None)
        if training_set.columns is not None and not is_packed:
            n_features, columns = training_set.samples.n_features, training_set.columns
        coef = np.zeros((len(outcomes), n_features))
        for row, outcome in zip(coef, outcomes, strict=True):
            weights = outcome.scale * outcome.hypothesis.weights
            _check_finite(specification, weights, intercept)
            row[columns] = weights
        scheme.set_absent(coef, absent, 0.0)
        return LinearModel(coef, intercept)
    codes = training_set.samples.codes
    signed = [outcome.scale * outcome.data.signs * outcome.hypothesis.dual for outcome in outcomes]
    dual_coef = scheme.gathered(signed, codes)
    if not scheme.has_pairs:
        scheme.set_absent(dual_coef, absent, 0.0)
    _check_finite(specification, dual_coef, intercept)
    support = np.flatnonzero(dual_coef.any(axis=0))
    support = support[np.argsort(codes[support], kind="stable")]
    vectors, indices = training_set.support(support)
    dual_coef, codes = dual_coef[:, support], codes[support]
    return KernelModel(training_set.kernel, vectors, indices, codes, dual_coef, intercept, scheme)


def _check_finite(specification, coefficients, intercept):
    """Raise a ValueError for a model that would predict NaN; all models are made here."""
    if not (np.isfinite(coefficients).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"X of {specification.name} must have columns whose numbers are of similar size: the model "
            "is not finite in double precision. Standardize the columns."
        )
