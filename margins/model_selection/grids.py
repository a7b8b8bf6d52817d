"""Grids of parameters: the settings of a search, in order, as the fits get them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from margins.data.types import Estimator, Grid
from margins.estimators.names import display_name

# Combinations of earlier stages that are checked with each setting of a later one.
MAX_CHECKED = 100


class Stages:
    """A search in stages: the best setting of each grid is kept while the next grid is searched.

    Parameters of later stages keep the estimator's own values until their stage.

    Parameters
    ----------
    *grids : dict or list of dict
        One for each stage, each as scikit-learn's `ParameterGrid` takes it, or a `ParameterSampler`.
        (A list of dicts is one stage: the union of its grids.)

    Raises
    ------
    ValueError
        If there is none.

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


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def stages_of(param_grid: Grid | Stages, caller: str) -> list[list[dict[str, Any]]]:
    """The settings of every stage, in the order of `ParameterGrid`: list of list of dict.

    Raises
    ------
    TypeError, ValueError
        If `ParameterGrid` does not accept a grid.
    """
    if isinstance(param_grid, tuple):
        raise TypeError(
            f"param_grid of {caller} must be a dict, a list of dicts, or, for a search in stages, "
            f"Stages(grid, grid, ...). Got a tuple."
        )
    grids = param_grid.grids if isinstance(param_grid, Stages) else (param_grid,)
    stages = []
    for grid in grids:
        try:
            sampled = isinstance(grid, ParameterSampler)
            settings = list(grid if sampled else ParameterGrid(grid))
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"param_grid of {caller} must be a dict of lists, a list of such dicts, or Stages of "
                f"them. Got {grid!r}: {error}"
            ) from error
        if not settings:
            raise ValueError(f"param_grid of {caller} must hold at least 1 setting. Got {grid!r}.")
        stages.append([{name: plain(value) for name, value in each.items()} for each in settings])
    return stages


def seeded(params: Mapping[str, Any], seed: int) -> Iterator[tuple[str, Any]]:
    """The parameters that a study replaces: (name, value) of each.

    A random_state of None gets the seed of the study; nothing runs in parallel within a task.
    """
    for name, value in params.items():
        last = name.rpartition("__")[2]
        if last == "random_state" and value is None:
            yield name, seed
        elif last == "n_jobs" and value not in (None, 1):  # None: tasks run in a context of one job
            yield name, 1
        elif hasattr(value, "get_params") and not isinstance(value, type):
            yield name, seeded_estimator(value, seed)
        elif isinstance(value, list | tuple) and any(_is_named(each) for each in value):
            yield (
                name,
                type(value)(
                    (each[0], seeded_estimator(each[1], seed), *each[2:]) if _is_named(each) else each
                    for each in value
                ),
            )


def _is_named(value: object) -> bool:
    """True for a step of a pipeline or the like: a name and an estimator."""
    return (
        isinstance(value, tuple)
        and len(value) >= 2
        and hasattr(value[1], "get_params")
        and not isinstance(value[1], type)
    )


def seeded_estimator(estimator: Estimator, seed: int) -> Any:
    """A clone with a seed for every random_state of None, and one thread."""
    twin = clone(estimator)
    own = {name: value for name, value in twin.get_params().items() if not hasattr(value, "get_params")}
    return twin.set_params(**dict(seeded(own, seed)))


def seeded_settings(settings: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Settings as fits get them: list of dict."""
    return [setting | dict(seeded(setting, seed)) for setting in settings]


def check_settings(estimator: Estimator, stages: list[list[dict[str, Any]]], caller: str) -> None:
    """Raise ValueError for the first setting that the estimator does not accept.

    A setting of a later stage needs one of the earlier stages that it can be combined with.
    """
    before: list[dict[str, Any]] = [{}]
    for settings in stages:
        merged = []
        for setting in settings:
            errors = [_error(estimator, one | setting, caller) for one in before]
            if all(errors) and errors[0] is not None:
                raise errors[0]
            merged += [one | setting for one, error in zip(before, errors, strict=True) if not error]
        before = merged[:MAX_CHECKED]


def _error(estimator: Estimator, setting: dict[str, Any], caller: str) -> ValueError | None:
    """The error of an estimator about a setting: ValueError or None."""
    twin = clone(estimator)
    try:
        twin.set_params(**setting)
        if hasattr(twin, "_check_parameters"):  # classifiers of this library check before a fit
            twin._check_parameters()
    except (AttributeError, TypeError, ValueError) as error:
        rejected = ValueError(
            f"param_grid of {caller} must hold parameters of {display_name(estimator)}. "
            f"Got {setting!r}: {error}"
        )
        rejected.__cause__ = error
        return rejected
    return None
