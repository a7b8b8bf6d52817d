"""Grids of parameters: the settings of a search, in the order in which they are fitted."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from margins.data.types import Estimator, Grid
from margins.estimators.names import display_name
from margins.parameters import Interval, check

# Number of combinations of earlier stages with which each setting of a later stage is checked.
MAX_CHECKED = 100


class Stages:
    """A search in stages, which keeps the best setting of each grid while searching the next.

    Parameters of later stages keep the estimator's values until their stage.

    Parameters
    ----------
    *grids : dict or list of dict
        One or more, for each stage an argument of scikit-learn's `ParameterGrid`, or a
        `ParameterSampler`. (A list of dicts is one stage: the union of its grids.)

    Notes
    -----
    **Source**: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm, the
    two-stage optimization of tau, then alpha or lambda.

    See Also
    --------
    parameter_search, double_cross_validation : Accept stages.

    Examples
    --------
    >>> Stages({"tau": [0, 0.5, 1]}, {"alpha_bound": [5, 10]})
    Stages({'tau': [0, 0.5, 1]}, {'alpha_bound': [5, 10]})
    """

    def __init__(self, *grids: Grid) -> None:
        if not grids:
            raise ValueError("Stages must hold at least 1 grid. Got none.")
        self.grids = grids

    def __repr__(self) -> str:
        return f"Stages({', '.join(map(repr, self.grids))})"


class Halving:
    """A search by successive halving: few samples for many settings, all samples for the best few.

    The first round trains every setting on a small part of each training set. Each round keeps the best
    1 / `factor` of its settings, which the next round trains on `factor` times as many samples, the last
    round on whole training sets. Every round tests on whole test sets.

    Parameters
    ----------
    param_grid : dict, list of dict, or ParameterSampler
        Argument of scikit-learn's `ParameterGrid`, or a `ParameterSampler`.
    factor : int, at least 2, default=3

    Notes
    -----
    A round of n settings keeps n / `factor`, rounded up; among equal means, the first in the grid. There
    are 1 + floor(log n / log `factor`) rounds, or as many as leave 10 samples of each class for the
    first. Samples are drawn without replacement, in proportion to the classes, with the seed of the
    study; groups stay on one side of every split, but are not drawn together.

    **Source**: Jamieson & Talwalkar (2016), Non-stochastic Best Arm Identification and Hyperparameter
    Optimization; the rounds are as in scikit-learn's `HalvingGridSearchCV`, which also subsamples test
    sets.

    See Also
    --------
    parameter_search, double_cross_validation : Accept it as `param_grid`.
    Stages : A search of one grid at a time.

    Examples
    --------
    >>> from margins.model_selection import parameter_search
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = Halving({"alpha": [0.01, 0.1, 1, 10, 100]})
    >>> study = parameter_search(RidgeClassifier(), grid, X, y, cv=3, random_state=0)
    >>> [(len(table.settings), len(table.splits[0][0])) for table in study.tables]
    [(5, 127), (2, 379)]
    """

    def __init__(self, param_grid: Grid | ParameterSampler, factor: int = 3) -> None:
        check("factor", "Halving", factor, Interval(2, math.inf, "left", integer=True))
        self.param_grid, self.factor = param_grid, factor

    def __repr__(self) -> str:
        return f"Halving({self.param_grid!r}, factor={self.factor})"


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python scalar, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def stages_of(param_grid: Grid | Stages | Halving, caller: str) -> list[list[dict[str, Any]]]:
    """Return the settings of every stage (a halving is one), in the order of `ParameterGrid`."""
    if isinstance(param_grid, tuple):
        raise TypeError(
            f"param_grid of {caller} must be a dict, a list of dicts, or, for a search in stages, "
            f"Stages(grid, grid, ...). Got a tuple."
        )
    if isinstance(param_grid, Stages):
        grids = param_grid.grids
    else:
        grids = (param_grid.param_grid if isinstance(param_grid, Halving) else param_grid,)
    stages = []
    for grid in grids:
        try:
            sampled = isinstance(grid, ParameterSampler)
            settings = list(grid if sampled else ParameterGrid(grid))
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"param_grid of {caller} must be a dict of lists, a list of such dicts, or Stages or "
                f"Halving of them. Got {grid!r}: {error}"
            ) from error
        if not settings:
            raise ValueError(f"param_grid of {caller} must hold at least 1 setting. Got {grid!r}.")
        stages.append([{name: plain(value) for name, value in params.items()} for params in settings])
    return stages


def seeded(params: Mapping[str, Any], seed: int) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of each parameter that a study replaces: random_state None and n_jobs."""
    for name, value in params.items():
        last = name.rpartition("__")[2]
        if last == "random_state" and value is None:
            yield name, seed
        elif last == "n_jobs" and value not in (None, 1):  # None: tasks run in a context of one job
            yield name, 1
        elif _is_estimator(value):
            yield name, seeded_estimator(value, seed)
        elif isinstance(value, list | tuple) and any(_is_named(item) for item in value):
            items = (
                (item[0], seeded_estimator(item[1], seed), *item[2:]) if _is_named(item) else item
                for item in value
            )
            yield name, type(value)(items)


def _is_named(value: object) -> bool:
    """Return True for a tuple of a name and an estimator, such as a step of a pipeline."""
    return isinstance(value, tuple) and len(value) >= 2 and _is_estimator(value[1])


def _is_estimator(value: object) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def seeded_estimator(estimator: Estimator, seed: int) -> Any:
    """Return a clone with a seed for every random_state of None, and one thread."""
    twin = clone(estimator)
    own = {name: value for name, value in twin.get_params().items() if not hasattr(value, "get_params")}
    return twin.set_params(**dict(seeded(own, seed)))


def seeded_settings(settings: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return the settings with the parameters that a study replaces: list of dict."""
    return [setting | dict(seeded(setting, seed)) for setting in settings]


def check_settings(estimator: Estimator, stages: list[list[dict[str, Any]]], caller: str) -> None:
    """Raise ValueError for the first setting that is accepted with no combination of earlier stages."""
    earlier: list[dict[str, Any]] = [{}]
    for settings in stages:
        merged = []
        for setting in settings:
            errors = [_error(estimator, fixed | setting, caller) for fixed in earlier]
            if all(errors) and errors[0] is not None:
                raise errors[0]
            merged += [
                fixed | setting for fixed, error in zip(earlier, errors, strict=True) if not error
            ]
        earlier = merged[:MAX_CHECKED]


def _error(estimator: Estimator, setting: dict[str, Any], caller: str) -> ValueError | None:
    """Return the ValueError of an estimator about a setting, or None."""
    twin = clone(estimator)
    try:
        twin.set_params(**setting)
        if hasattr(twin, "check_parameters"):  # classifiers of this library check before a fit
            twin.check_parameters()
    except (AttributeError, TypeError, ValueError) as error:
        needed = f"param_grid of {caller} must hold parameters of {display_name(estimator)}."
        rejected = ValueError(f"{needed} Got {setting!r}: {error}")
        rejected.__cause__ = error
        return rejected
    return None
