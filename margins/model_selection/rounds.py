"""Rounds of a search: which settings each of them trains, and on which rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import resample

from margins.model_selection.grids import Halving
from margins.model_selection.study import Table

Settings = list[dict[str, Any]]
Splits = list[tuple[NDArray[np.int64], NDArray[np.int64]]]

# Of each class in the first round of a halving, at least.
MIN_ROWS = 10


class StageRounds:
    """One round for each stage, all on whole training sets.

    Parameters
    ----------
    stages : list of list of dict
        The settings of each.
    searches : list of list of (ndarray of int64, ndarray of int64)
        The splits of each search, which are those of every round.

    Attributes
    ----------
    n_settings : list of int
        Of each round.
    splits : list of (ndarray of int64, ndarray of int64)
        All that are trained on, those of one search after those of the other.
    """

    def __init__(self, stages: list[Settings], searches: list[Splits]) -> None:
        self._stages, self._searches = stages, searches
        self.n_settings = list(map(len, stages))
        self.splits = _chained(searches)

    def searches(self, number: int) -> tuple[int, list[Splits]]:
        """The position in `splits` of the first split of a round, and the splits of each search."""
        return 0, self._searches

    def grid(self, number: int, before: Table | None) -> Settings:
        """All settings that a round may train, after the table of the round before: list of dict."""
        fixed = {} if before is None else before.best_params
        return [fixed | each for each in self._stages[number]]

    settings = grid  # those that it trains


class HalvingRounds:
    """Rounds with ever fewer settings and ever more rows: see `Halving`.

    Parameters
    ----------
    grid : list of dict
    factor : int
    searches : list of list of (ndarray of int64, ndarray of int64)
    y : ndarray, shape (n_samples,)
    seed : int

    Attributes
    ----------
    n_settings, splits
        As those of `StageRounds`, but each round has splits of its own.
    """

    def __init__(
        self, grid: Settings, factor: int, searches: list[Splits], y: NDArray[Any], seed: int
    ) -> None:
        self._grid = grid
        self.n_settings = _halved(len(grid), factor, _smallest_class(searches, y))
        shares = [factor**power for power in reversed(range(len(self.n_settings)))]
        self._rounds = [
            [[(_drawn(train, share, y, seed), test) for train, test in splits] for splits in searches]
            for share in shares
        ]
        self.splits = _chained(splits for searches in self._rounds for splits in searches)

    def searches(self, number: int) -> tuple[int, list[Splits]]:
        searches = self._rounds[number]
        return number * sum(map(len, searches)), searches

    def grid(self, number: int, before: Table | None) -> Settings:
        return self._grid

    def settings(self, number: int, before: Table | None) -> Settings:
        return self._grid if before is None else best_settings(before, self.n_settings[number])


def rounds_of(
    param_grid: object,
    stages: list[Settings],
    searches: list[Splits],
    y: NDArray[Any],
    seed: int,
) -> StageRounds | HalvingRounds:
    """The rounds of what `param_grid` is."""
    if isinstance(param_grid, Halving):
        return HalvingRounds(stages[0], param_grid.factor, searches, y, seed)
    return StageRounds(stages, searches)


def best_settings(table: Table, n_best: int) -> Settings:
    """The settings with the best means, in the order of the table; of equals, the first: list of dict.

    Parameters
    ----------
    table : Table
    n_best : int
    """
    means = table.mean_scores()
    order = np.argsort(np.where(np.isnan(means), np.inf, -means), kind="stable")
    return [table.settings[index] for index in sorted(order[:n_best])]


def _halved(n_settings: int, factor: int, smallest_class: int) -> list[int]:
    """Numbers of settings, round by round."""
    numbers = [n_settings]
    while factor ** len(numbers) <= n_settings and smallest_class >= MIN_ROWS * factor ** len(numbers):
        numbers.append(-(-numbers[-1] // factor))
    return numbers


def _smallest_class(searches: list[Splits], y: NDArray[Any]) -> int:
    """Rows of the smallest class of any training set."""
    trains = (train for splits in searches for train, _ in splits)
    return min(int(np.unique(y[train], return_counts=True)[1].min()) for train in trains)


def _drawn(rows: NDArray[np.int64], share: int, y: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """One row of `share`, in proportion to the classes and in the order of the rows."""
    if share == 1:
        return rows
    positions = resample(
        np.arange(len(rows)),
        replace=False,
        n_samples=-(-len(rows) // share),
        stratify=y[rows],
        random_state=seed,
    )
    drawn: NDArray[np.int64] = rows[np.sort(positions)]
    return drawn


def _chained(searches: Iterable[Splits]) -> Splits:
    return [split for splits in searches for split in splits]
