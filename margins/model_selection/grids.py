"""Grids of parameters: what a search tries, in order, and what a fit then gets."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from margins.data.types import Estimator, Grid

# Of the combinations of earlier stages so many are tried with each setting of a later one.
MOST_CHECKED = 100


class Stages:
    """A search in stages: the best setting of each grid is kept while the next grid is searched.

    Parameters of later stages stay at the estimator's own values until their turn comes.

    Parameters
    ----------
    *grids : dict or list of dict
        One for each stage, each as scikit-learn's `ParameterGrid` takes it. (A list of dicts is one
        stage: the union of its grids.)

    Raises
    ------
    ValueError
        If there is none.

    Notes
    -----
    **Source**: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm, the
    two-stage optimization of tau, then alpha or lambda.

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
        If a grid is none of scikit-learn's.
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
            settings = list(ParameterGrid(grid))
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"param_grid of {caller} must be a dict of lists, a list of such dicts, or Stages of "
                f"them. Got {grid!r}: {error}"
            ) from error
        if not settings:
            raise ValueError(f"param_grid of {caller} must hold at least 1 setting. Got {grid!r}.")
        stages.append([{name: plain(value) for name, value in each.items()} for each in settings])
    return stages


def settled(params: Mapping[str, Any], seed: int) -> Iterator[tuple[str, Any]]:
    """Those of some parameters that a study settles: list of (name, value).

    What is left to chance gets the seed of the study; nothing runs in parallel within a task.
    """
    for name, value in params.items():
        last = name.rpartition("__")[2]
        if last == "random_state" and value is None:
            yield name, seed
        elif last == "n_jobs" and value not in (None, 1):  # None: tasks run in a context of one job
            yield name, 1
        elif hasattr(value, "get_params") and not isinstance(value, type):
            yield name, settled_estimator(value, seed)
        elif isinstance(value, list | tuple) and any(_is_named(each) for each in value):
            yield (
                name,
                type(value)(
                    (each[0], settled_estimator(each[1], seed), *each[2:]) if _is_named(each) else each
                    for each in value
                ),
            )


def _is_named(value: object) -> bool:
    """Is it a step of a pipeline, or the like: a name and an estimator?"""
    return (
        isinstance(value, tuple)
        and len(value) >= 2
        and hasattr(value[1], "get_params")
        and not isinstance(value[1], type)
    )


def settled_estimator(estimator: Estimator, seed: int) -> Any:
    """A clone that leaves nothing to chance and runs in one thread."""
    twin = clone(estimator)
    own = {name: value for name, value in twin.get_params().items() if not hasattr(value, "get_params")}
    return twin.set_params(**dict(settled(own, seed)))


def settled_settings(settings: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Settings as fits get them: list of dict."""
    return [setting | dict(settled(setting, seed)) for setting in settings]


def check_settings(estimator: Estimator, stages: list[list[dict[str, Any]]], caller: str) -> None:
    """Raise ValueError for the first setting that the estimator does not take.

    A setting of a later stage needs one of the stage before that it goes with.
    """
    before: list[dict[str, Any]] = [{}]
    for settings in stages:
        merged = []
        for setting in settings:
            errors = [_error(estimator, one | setting, caller) for one in before]
            if all(errors) and errors[0] is not None:
                raise errors[0]
            merged += [one | setting for one, error in zip(before, errors, strict=True) if not error]
        before = merged[:MOST_CHECKED]


def _error(estimator: Estimator, setting: dict[str, Any], caller: str) -> ValueError | None:
    """What an estimator says against a setting: ValueError or None."""
    twin = clone(estimator)
    try:
        twin.set_params(**setting)
        if hasattr(twin, "_check_parameters"):  # ours say before a fit what they do not take
            twin._check_parameters()
    except (AttributeError, TypeError, ValueError) as error:
        refused = ValueError(
            f"param_grid of {caller} must hold parameters of {type(estimator).__name__}. "
            f"Got {setting!r}: {error}"
        )
        refused.__cause__ = error
        return refused
    return None
