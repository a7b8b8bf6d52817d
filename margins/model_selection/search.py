"""The two protocols of studies: parameter search and double cross-validation."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeVar

from numpy.typing import ArrayLike
from sklearn.model_selection import ParameterSampler

from margins.data.types import Estimator, Folds, Grid, MatrixLike, Metric, RandomState, Splitter
from margins.model_selection.engine import Engine
from margins.model_selection.grids import Halving, Stages
from margins.model_selection.study import Study

F = TypeVar("F", bound=Callable[..., Any])

SEARCHED = """
estimator : classifier
    Any classifier with scikit-learn's interface. It is cloned, never changed.
param_grid : dict, list of dict, ParameterSampler, Stages or Halving
    An argument of scikit-learn's `ParameterGrid`; `Stages` with a grid for each stage; a
    `ParameterSampler` for a random search, whose settings are drawn once for all folds; or `Halving`
    of a grid or sampler, for successive halving.
X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
y : array-like, shape (n_samples,)
"""

COMMON = """
scoring : str, callable, list of str, or dict, default="accuracy"
    As in scikit-learn: a name, a callable (estimator, X, y) -> float, or several metrics.
refit : str, optional
    The metric that decides, if there are several.
groups : array-like, shape (n_samples,), optional
    Samples of one group stay together; a splitter that ignores groups raises an error.
sample_weight : array-like of float, shape (n_samples,), optional
    For fits; test scores are not weighted.
n_jobs : int, optional
    Number of tasks to run in parallel, counted as in joblib. The backend is joblib's: threads, unless
    `joblib.parallel_config` sets another. Within a task the estimator's `n_jobs` is 1. Results depend
    neither on `n_jobs` nor on the backend.
cache : path-like, optional
    Folder that stores every finished task. If you run an interrupted study again, it repeats no
    finished task and has the same result (including the seconds of finished tasks). Several processes
    may share the folder. A stored task is used if everything that decides its result is the same: data,
    rows, settings, estimator, metrics and seed; scikit-learn's configuration; the versions of Python
    and of all installed packages; the files of this library, of the program, and of all local modules
    that are loaded or imported by one of these files. So any edit of a local file has all tasks computed
    again; if Python had loaded the file, a RuntimeWarning asks for a restart. Variables count if your
    functions, or the methods of your classes, name them. A value that pickle cannot identify, such as a
    lock, raises a TypeError. The cache does not notice changes to installed packages, to files that code
    reads and to environment variables. Results that cannot be written give a RuntimeWarning.
cache_key : str, optional
    Name of the version of your code, which replaces the contents of local files. It is required if no
    file contains the code of your functions and classes, as in a notebook. Change it with the code.
random_state : int, RandomState or None, default=None
    Seed of folds given as a number, and of splitters and estimators whose `random_state` is None.
    None: a seed drawn by `numpy.random`; with a cache, the one that the same study drew first.
progress : bool, optional
    Show a progress bar of all fits (tqdm). None: if tqdm is installed and stderr is a terminal.
"""

RAISES = """
Raises
------
TypeError, ValueError
    If an argument is not allowed; before any work.
FitFailed
    If a fit or a score raises an exception, which the message names; a cache keeps all finished tasks.
    Tasks of killed workers are run again; FitFailed is raised if workers are lost three times in a row
    before any task is finished.
"""


def _documented(function: F) -> F:
    """Fill in the parts of the docstring that both protocols share."""
    if function.__doc__:  # none with python -OO
        text = inspect.cleandoc(function.__doc__)
        for name, shared in (("searched", SEARCHED), ("common", COMMON), ("raises", RAISES)):
            text = text.replace(f"{{{name}}}", shared.strip())
        function.__doc__ = text
    return function


@_documented
def parameter_search(
    estimator: Estimator,
    param_grid: Grid | ParameterSampler | Stages | Halving,
    X: MatrixLike,
    y: ArrayLike,
    *,
    cv: Folds = 10,
    scoring: Metric | Sequence[str] | Mapping[str, Metric] = "accuracy",
    refit: str | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    random_state: RandomState = None,
    progress: bool | None = None,
) -> Study:
    """Cross-validate every setting of a grid, and report the best.

    The best score is selected after the fact, so it is biased upwards; an unbiased score needs
    `double_cross_validation`. Among equal means, the first setting in the order of the grid is chosen.

    Parameters
    ----------
    {searched}
    cv : int, splitter, or iterable of (train, test), default=10
        An integer: `StratifiedKFold`, with groups `StratifiedGroupKFold`, shuffled by `random_state`.
    {common}

    Returns
    -------
    Study
        `tables` has one table for each stage or round, `folds` has the results of the best setting.

    {raises}

    Notes
    -----
    **Source**: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm,
    "parameter search".

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import parameter_search
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pam = margins.get("pam")(max_iter=5)
    >>> study = parameter_search(pam, {"tau": [0, 0.5]}, X, y, cv=3, random_state=0)
    >>> study.best_params
    {'tau': 0.5}
    """
    options = scoring, refit, groups, sample_weight, n_jobs, cache, cache_key, random_state, progress
    return Engine("parameter_search", estimator, param_grid, X, y, {"cv": cv}, options).study()


@_documented
def double_cross_validation(
    estimator: Estimator,
    param_grid: Grid | ParameterSampler | Stages | Halving,
    X: MatrixLike,
    y: ArrayLike,
    *,
    outer: Folds = 10,
    inner: int | Splitter = 10,
    scoring: Metric | Sequence[str] | Mapping[str, Metric] = "accuracy",
    refit: str | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    random_state: RandomState = None,
    progress: bool | None = None,
) -> Study:
    """Test a classifier together with the search for its parameters.

    For each outer fold, a cross-validation of the outer training set alone searches the grid; then the
    best setting is trained on the whole outer training set, and tested on the outer test set. Among
    equal means, the first setting in the order of the grid is chosen.

    Parameters
    ----------
    {searched}
    outer : int, splitter, or iterable of (train, test), default=10
        An integer: `StratifiedKFold`, with groups `StratifiedGroupKFold`, shuffled by `random_state`.
    inner : int or splitter, default=10
        Likewise, for each outer training set.
    {common}

    Returns
    -------
    Study
        `folds` has the outer folds, `tables` has one table for each outer fold and each stage or round.

    {raises}

    Notes
    -----
    **Source**: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm,
    "parameter optimization" by double cross-validation.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import double_cross_validation
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pam, grid = margins.get("pam")(max_iter=5), {"tau": [0, 0.5]}
    >>> study = double_cross_validation(pam, grid, X, y, outer=3, inner=3, random_state=0)
    >>> len(study.folds), len(study.tables)
    (3, 3)
    """
    if isinstance(inner, str) or not (hasattr(inner, "split") or isinstance(inner, Integral)):
        raise TypeError(
            "inner of double_cross_validation must be an integer or a splitter, because it splits the "
            f"rows of every outer training set. Got {inner!r}."
        )
    cvs = {"outer": outer, "inner": inner}
    options = scoring, refit, groups, sample_weight, n_jobs, cache, cache_key, random_state, progress
    return Engine("double_cross_validation", estimator, param_grid, X, y, cvs, options).study()
