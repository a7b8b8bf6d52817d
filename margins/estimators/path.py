"""Regularisation paths: fits of the same samples for many penalties C, each with a proof."""

import copy
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.certificate import Certificate
from margins.data.chunks import Chunks
from margins.data.types import LazyMatrix, MatrixLike
from margins.estimators.fitted import dense_coef
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.messages import Unproven, not_converged, warn_of, worst_of
from margins.estimators.partitioned import fit_of, partitioned_fit, takes_partitions
from margins.linalg.memory import check_model_fits
from margins.losses import Loss
from margins.parameters import Interval
from margins.training.along_c import paths_of
from margins.training.fit import Fit

# The ends of a grid of C with a given number of values, as in LogisticRegressionCV.
SMALLEST_OF_GRID, LARGEST_OF_GRID = -4, 4  # powers of ten


@dataclass(frozen=True, eq=False)
class SVMPath:
    """Regularisation path: fitted classifiers along C.

    Attributes
    ----------
    Cs : ndarray of float64, shape (n_cs,)
        Penalties, in the order in which they were passed, once for each `l1_ratio` of several.
    classifiers : list of MarginClassifier, length n_cs
        Fitted classifiers, one for each C, with certificates and all other attributes.
    l1_ratios : ndarray of float64, shape (n_cs,), or None
        The `l1_ratio` of each classifier; None unless several were passed.

    See Also
    --------
    svm_path : Computes a path.
    margins.plotting.CoefficientPathDisplay : Draws a path.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = margins.svm_path(X / X.max(axis=0), y, [0.01, 1, 100])
    >>> path.coefs.shape, path.intercepts.shape
    ((3, 1, 30), (3, 1))
    >>> [classifier.converged_ for classifier in path.classifiers]
    [True, True, True]
    """

    Cs: NDArray[np.float64]
    classifiers: list[MarginClassifier]
    l1_ratios: NDArray[np.float64] | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """The labels (ndarray, shape (n_classes,))."""
        return self.classifiers[0].classes_

    @property
    def coefs(self) -> NDArray[np.float64]:
        """The weights (ndarray of float64, shape (n_cs, n_problems, n_features)); linear kernel only.

        Two classes make one problem; several make one for each class or, one-vs-one, for each pair.
        """
        return np.array([dense_coef(classifier) for classifier in self.classifiers])

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """The intercepts (ndarray of float64, shape (n_cs, n_problems))."""
        return np.array([classifier.intercept_ for classifier in self.classifiers])

    @property
    def certificates(self) -> list[list[Certificate]]:
        """The certificates of each C and each problem (list of list of Certificate)."""
        return [classifier.certificates_ for classifier in self.classifiers]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """True for each C whose problems all reached `eps` (ndarray of bool, shape (n_cs,))."""
        return np.array([classifier.converged_ for classifier in self.classifiers])

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return the scores of all classifiers.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_cs, n_samples) for two classes, else (n_cs, n_samples, n_classes)
        """
        return np.array([classifier.decision_function(X) for classifier in self.classifiers])

    def __len__(self) -> int:
        return len(self.Cs)

    def __repr__(self) -> str:
        ends = f"{self.Cs.min():g} to {self.Cs.max():g}"
        several = "" if self.l1_ratios is None else f", with {len(set(self.l1_ratios))} of l1_ratio"
        return f"SVMPath({len(self)} values of C, {ends}{several}; {int(self.converged.sum())} proven)"


def svm_path(
    X: MatrixLike | Chunks | LazyMatrix,
    y: ArrayLike | None = None,
    Cs: int | ArrayLike = 10,
    *,
    loss: str | type[Loss] = "squared_hinge",
    eps: float = 0.01,
    l1_ratio: float | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    **params: Any,
) -> SVMPath:
    """Fit support vector machines along C, each from its neighbour and with a proof.

    The result is as accurate as separate fits of `MarginClassifier`, but takes less time: samples are
    read and validated once, and each fit starts from the primal and dual solution for the next smaller
    C, scaled to be feasible. Several classes are one-vs-rest or, with ``multi_class="ovo"``, one-vs-one.

    Parameters
    ----------
    X : array-like, sparse matrix, Chunks, or dask array or data frame, (n_samples, n_features)
    y : array-like, shape (n_samples,)
        Labels of at least two classes; None with Chunks, which hold the labels.
    Cs : int or array-like of float, shape (n_cs,), default=10
        Finite penalties > 0, in any order. An integer n: n values from 1e-4 to 1e4, spaced evenly on a
        logarithmic scale, as in LogisticRegressionCV.
    loss : {"squared_hinge", "hinge"} or subclass of margins.losses.Loss, default="squared_hinge"
    eps : float in (0, 1], default=0.01
        Accuracy to prove for every C, as in MarginClassifier.
    l1_ratio : float or array-like of float, in [0, 1], optional
        Shares of l1 in ``penalty="elasticnet"``, each with a path along C.
    sample_weight : array-like of float, shape (n_samples,), optional
        Multiplies C of each sample. Samples of weight 0 are left out.
    n_jobs : int, optional
        Number of threads that train binary problems, counted as in joblib. Results do not depend on it.
        With a kernel, the threads share the work of one problem at a time, since all problems share one
        cache of rows.
    **params
        Other parameters of MarginClassifier, such as `kernel`, `class_weight`, `solver` or
        `random_state`; not `C`, `warm_start` or `max_time`.

    Returns
    -------
    SVMPath

    Raises
    ------
    TypeError
        If a parameter is unknown.
    ValueError
        If a parameter or the data are not allowed. It is raised before any training.

    Warns
    -----
    ConvergenceWarning
        If fits end before their accuracy is proven. A single warning states their number, and the C and
        the proven accuracy of the worst.

    See Also
    --------
    MarginClassifierCV : Selects C by cross-validation, along paths.
    margins.plotting.CoefficientPathDisplay : Draws a path.

    Examples
    --------
    >>> import margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = margins.svm_path(X / X.max(axis=0), y, Cs=5, eps=1e-3)
    >>> path
    SVMPath(5 values of C, 0.0001 to 10000; 5 proven)
    >>> all(problem.fraction >= 0.999 for [problem] in path.certificates)
    True
    """
    Cs = grid_of(Cs, "svm_path")
    for name in ("C", "warm_start", "max_time"):
        if name in params:
            raise TypeError(f"svm_path does not take {name!r}: it fits one classifier for each of Cs.")
    ratios = ratios_of(l1_ratio, "svm_path")
    estimator = MarginClassifier(loss=loss, eps=eps, n_jobs=n_jobs, l1_ratio=max(ratios), **params)
    estimator.check_parameters()
    n_cs, unproven = len(Cs), []
    classifiers = [MarginClassifier()] * (n_cs * len(ratios))
    order = np.argsort(Cs, kind="stable")
    fits = _fits_along(estimator, X, y, sample_weight, Cs[order], ratios)
    for k, fit in enumerate(fits):
        i, ratio = order[k % n_cs], ratios[k // n_cs]
        classifier = copy.copy(estimator)
        classifier.C, classifier.l1_ratio = float(Cs[i]), ratio
        classifier.set_fitted(fit)
        classifiers[k - k % n_cs + i] = classifier
        if not classifier.converged_:
            gap, text = not_converged(classifier, fit)
            place = f"C={classifier.C:g}" + (f", l1_ratio={ratio:g}" if len(ratios) > 1 else "")
            unproven.append(Unproven(gap, f"{place}: {text}"))
    if unproven:
        worst = worst_of(unproven)
        count = f"svm_path did not converge for {len(unproven)} of {len(fits)} values of C."
        warn_of(worst._replace(text=f"{count} The largest gap is at {worst.text}"), 2)
    if len(ratios) == 1:
        return SVMPath(Cs, classifiers)
    return SVMPath(np.tile(Cs, len(ratios)), classifiers, np.repeat(ratios, n_cs))


def _fits_along(
    estimator: MarginClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    Cs: NDArray[np.float64],
    ratios: list[Any],
) -> list[Fit]:
    """Return the fits for ascending values of C, for each l1_ratio, the largest of which is set."""
    if takes_partitions(estimator, X):
        with partitioned_fit(estimator, X, y, sample_weight) as partitioned:
            outcomes = []
            for ratio in ratios:
                estimator.l1_ratio = ratio
                partitioned.penalise(estimator.regulariser())
                outcomes += partitioned.train(partitioned.problems(Cs))
            n_problems = len(outcomes) // (len(Cs) * len(ratios))
            return [
                fit_of(partitioned.scanned, outcomes[begin : begin + n_problems], partitioned.absent())
                for begin in range(0, len(outcomes), n_problems)
            ]
    training_set = estimator.training_set(X, y, sample_weight)
    if not training_set.is_kernel:
        n_problems, n_features = training_set.scheme.n_problems, training_set.samples.n_features
        check_model_fits("svm_path", n_problems * len(Cs) * len(ratios), n_features)
    fits: list[Fit] = []
    for ratio in ratios:
        estimator.l1_ratio = ratio
        specification = estimator.specification(training_set.sqnorms)
        paths = paths_of(training_set, specification, estimator, Cs)
        per_c = paths.train_all(estimator.random_state, Cs, lambda _, outcome: outcome, estimator.n_jobs)
        fits += [Fit(training_set, outcomes[0].specification, list(outcomes)) for outcomes in per_c]
    return fits


def grid_of(Cs: Any, caller: object) -> NDArray[np.float64]:
    """Return the values of C that the parameter `Cs` asks for (ndarray of float64, shape (n_cs,))."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool) and int(Cs) >= 1:
        return np.logspace(SMALLEST_OF_GRID, LARGEST_OF_GRID, int(Cs))
    try:  # NumPy makes numbers of texts and truth values
        are_numbers = all(isinstance(C, Number) and not isinstance(C, bool) for C in Cs)
        grid = np.array(Cs, dtype=np.float64) if are_numbers else None
    except (TypeError, ValueError):
        grid = None
    if grid is None or grid.ndim != 1 or not len(grid) or not np.all((grid > 0) & (grid < np.inf)):
        raise ValueError(
            f"Cs of {caller} must be an integer >= 1, or finite numbers > 0, at least one. Got {Cs!r}."
        )
    return grid


def ratios_of(l1_ratio: Any, caller: object) -> list[Any]:
    """Return the values that the parameter `l1_ratio` asks for (list); a single one is not checked."""
    if isinstance(l1_ratio, str) or not np.iterable(l1_ratio):
        return [l1_ratio]
    ratios = list(l1_ratio)
    if not ratios or not all(map(Interval(0, 1).contains, ratios)):
        raise ValueError(
            f"l1_ratio of {caller} must be a number in [0, 1], or an array of at least one. "
            f"Got {l1_ratio!r}."
        )
    return [float(ratio) for ratio in ratios]
