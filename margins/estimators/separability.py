"""Separability: a hard margin tells whether a hyperplane separates two classes, with a proof."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.data.chunks import check_in_memory
from margins.data.types import MatrixLike
from margins.estimators.margin_classifier import MarginClassifier
from margins.solvers.base import Ending
from margins.training.fit import Fit, Training

# Parameters that are fixed: the problem is a hard margin with a free intercept.
FIXED = ("C", "loss", "fit_intercept", "penalize_intercept", "intercept_scaling")


@dataclass(frozen=True, eq=False)
class Separability:
    """Answer of `separability`: whether a hyperplane separates two classes, with a proof.

    Attributes
    ----------
    is_separable : bool or None
        True: `classifier` separates the classes. False: no hyperplane separates them by more than
        `upper_bound`, which is at most 1e-10 of the largest distance of a sample from the mean, or 1e-5
        if no smaller bound could be proven. None: the fit proved neither.
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
    """

    is_separable: bool | None
    margin: float
    upper_bound: float
    support: NDArray[np.intp]
    weights: NDArray[np.float64]
    classifier: MarginClassifier

    def __str__(self) -> str:
        if self.is_separable:
            return f"separable: margin {self.margin:.6g}, at most {self.upper_bound:.6g} possible"
        if self.is_separable is None:
            return f"not known to be separable: no margin exceeds {self.upper_bound:.6g}"
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
    runs = Training(training_set, specification).train(classifier.phases, classifier.random_state)
    classifier.set_fitted(Fit(training_set, specification, runs))
    (run,) = runs
    support = np.flatnonzero(run.hypothesis.dual)
    dual, is_positive = run.hypothesis.dual[support], run.data.signs[support] > 0
    class_sums = np.where(is_positive, dual[is_positive].sum(), dual[~is_positive].sum())
    return Separability(
        False if run.ending is Ending.INFEASIBLE else run.certificate.margin > 0 or None,
        run.certificate.margin,
        run.certificate.upper_bound,
        training_set.samples.kept[support],
        dual / class_sums,
        classifier,
    )
