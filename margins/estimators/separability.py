"""Separability: a hard margin tells whether a hyperplane separates two classes, with a proof."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from margins.data.chunks import check_in_memory
from margins.data.types import MatrixLike
from margins.estimators.margin_classifier import MarginClassifier
from margins.solvers.base import Ending
from margins.solvers.hard_margin import radius_of
from margins.solvers.outcome import Outcome
from margins.solvers.rounding import EPSILON
from margins.training.fit import Fit, Training
from margins.tuning import TUNING

# Parameters that are fixed: the problem is a hard margin with a free intercept.
FIXED = ("C", "loss", "fit_intercept", "penalize_intercept", "intercept_scaling")

# Number of rounded kernel values in the squared distance of two points.
N_ROUNDED = 4


@dataclass(frozen=True, eq=False)
class Separability:
    """Answer of `separability`: whether a hyperplane separates two classes, with a proof.

    Attributes
    ----------
    is_separable : bool or None
        True: `classifier` separates the classes. False: no hyperplane separates them by more than
        `upper_bound`, which is at most 1e-10 of the largest distance of a sample from the mean (with a
        kernel, from the first sample), or 1e-5 if no smaller bound could be proven. None: `reason`.
    margin : float
        Distance of the closest sample from the hyperplane of `classifier`, in the units of X; negative
        if the sample is on the wrong side.
    upper_bound : float
        No hyperplane separates the classes by a larger distance.
    support : ndarray of int, shape (n_support,)
        Indices of the samples that prove `upper_bound`.
    weights : ndarray of float64, shape (n_support,)
        Weights of these samples, which sum to 1 for each class. Except for rounding, the weighted means
        of the two classes are at most twice `upper_bound` apart. With a kernel, the means are taken in
        its feature space.
    classifier : MarginClassifier
        The fitted classifier, with ``C=inf``.
    reason : str or None
        Why nothing is proven, if `is_separable` is None.
    """

    is_separable: bool | None
    margin: float
    upper_bound: float
    support: NDArray[np.intp]
    weights: NDArray[np.float64]
    classifier: MarginClassifier
    reason: str | None = None

    def __str__(self) -> str:
        if self.is_separable:
            return f"separable: margin {self.margin:.6g}, at most {self.upper_bound:.6g} possible"
        if self.is_separable is None:
            return f"not known to be separable: no margin exceeds {self.upper_bound:.6g} ({self.reason})"
        return (
            f"not separable by a margin of more than {self.upper_bound:.3g}: "
            f"{len(self.support)} samples prove it"
        )


def separability(X: MatrixLike, y: ArrayLike, *, eps: float = 0.01, **params: Any) -> Separability:
    """Return whether a hyperplane separates two classes, with the largest margin or a proof of none.

    **Source**: Keerthi, Shevade, Bhattacharyya & Murthy (2000), A fast iterative nearest point algorithm
    for support vector machine classifier design, on the distance of convex hulls.

    Parameters
    ----------
    X : array-like or sparse matrix, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
        Labels of two classes.
    eps : float in (0, 1], default=0.01
        Accuracy of the margin of separable classes: ``margin >= (1 - eps) * upper_bound``.
    **params
        Other parameters of `MarginClassifier`, such as `kernel`, which then asks about hyperplanes in
        the feature space of the kernel; not `C`, `loss` or the parameters of the intercept.

    Returns
    -------
    Separability

    Raises
    ------
    ValueError
        If `y` does not have two classes, or if `MarginClassifier.fit` would raise it.

    Examples
    --------
    >>> import margins
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> print(margins.separability(X, [0, 0, 0, 1], eps=1e-6))
    separable: margin 0.353553, at most 0.353553 possible
    >>> xor = margins.separability(X, [0, 0, 1, 1])
    >>> xor.is_separable, xor.support.tolist(), xor.weights.round(6).tolist()
    (False, [0, 1, 2, 3], [0.5, 0.5, 0.5, 0.5])
    """
    for name in FIXED:
        if name in params:
            raise ValueError(
                f"{name} of separability cannot be set: the search covers all hyperplanes. "
                f"Got {name}={params[name]!r}."
            )
    classifier = MarginClassifier(C=math.inf, penalize_intercept=False, eps=eps, **params)
    classifier.check_parameters()
    check_in_memory(X, "X of separability")
    training_set = classifier.training_set(X, y)
    n_classes = len(training_set.classes)
    if n_classes != 2:
        raise ValueError(
            f"y of separability must have two classes. Got {n_classes}. To separate one class from the "
            "others, pass y == label."
        )
    specification = classifier.specification(training_set.sqnorms)
    (outcome,) = Training(training_set, specification).train(classifier.phases, classifier.random_state)
    hidden = _hidden_by_rounding(training_set, specification)
    may_move = training_set.is_kernel and training_set.rows.blocks.matrix_fits
    if may_move and hidden is None and _answer(outcome) is None:
        outcome = _from_first_sample(classifier, training_set)
    answer, reason = _answer(outcome), None
    if not answer and hidden is not None:
        answer, reason = None, hidden
    elif answer is None:
        reason = f"the fit ended without a proof: {outcome.ending.name.lower().replace('_', ' ')}"
    classifier.set_fitted(Fit(training_set, specification, [outcome]))
    support = np.flatnonzero(outcome.hypothesis.dual)
    dual, is_positive = outcome.hypothesis.dual[support], outcome.data.signs[support] > 0
    class_sums = np.where(is_positive, dual[is_positive].sum(), dual[~is_positive].sum())
    bounds = outcome.certificate.margin, outcome.certificate.upper_bound
    indices, weights = training_set.samples.kept[support], dual / class_sums
    return Separability(answer, *bounds, indices, weights, classifier, reason)


def _answer(outcome: Outcome) -> bool | None:
    """Return whether a hyperplane separates the classes of a run; None: nothing is proven."""
    if outcome.ending is Ending.INFEASIBLE and outcome.hypothesis.dual.any():
        return False
    return outcome.certificate.margin > 0 or None


def _hidden_by_rounding(training_set: Any, specification: Any) -> str | None:
    """Return why no set of samples proves inseparability; None if rounded kernel values allow it."""
    if not training_set.is_kernel or training_set.kernel.name == "precomputed":
        return None
    largest = float(training_set.sqnorms.max())
    data = training_set.problem(1, specification).data
    hidden = math.sqrt(N_ROUNDED * EPSILON * largest)  # in the distance of two points
    if not hidden > TUNING.hard_margin.separable_at_end * radius_of(data):
        return None
    return (
        f"rounding hides margins of {hidden:.2g}, because kernel values of {largest:.2g} are rounded: "
        "measure features from their mean, or scale them"
    )


def _from_first_sample(classifier: MarginClassifier, training_set: Any) -> Outcome:
    """Train in a feature space with its origin at the first sample, where kernel values round less.

    Its dual variables and its intercept are those of the original kernel.
    """
    matrix = training_set.rows.blocks.matrix
    moved = (matrix - matrix[:, :1]) - (matrix[:1] - matrix[0, 0])  # exact if the samples are far away
    other = clone(classifier).set_params(kernel="precomputed")
    codes = training_set.samples.codes
    other_set = other.training_set(0.5 * (moved + moved.T), codes)
    specification = other.specification(other_set.sqnorms)
    (outcome,) = Training(other_set, specification).train(other.phases, other.random_state)
    coefficients = outcome.data.signs * outcome.hypothesis.dual
    shift = float(coefficients @ (matrix[:, 0] - matrix[0, 0]))
    return outcome._replace(theta=outcome.theta + shift)
