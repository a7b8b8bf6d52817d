"""Rounds of a search: the settings that each round trains, and the rows."""

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import resample

from margins.model_selection.grids import Halving
from margins.model_selection.intervals import comparable
from margins.model_selection.study import Table

Settings = list[dict[str, Any]]
Splits = list[tuple[NDArray[np.int64], NDArray[np.int64]]]

# Minimum number of rows of each class in the first round of a halving.
MIN_ROWS = 10


class StageRounds:
    """One round for each stage, all on whole training sets, with the same splits of each search."""

    def __init__(self, stages: list[Settings], searches: list[Splits]) -> None:
        self._stages, self._searches = stages, searches
        self.n_settings = list(map(len, stages))
        self.splits = list(chain(*searches))

    def searches(self, number: int) -> tuple[int, list[Splits]]:
        """Return the position in `splits` of a round's first split, and the splits of each search."""
        return 0, self._searches

    def grid(self, number: int, previous: Table | None) -> Settings:
        """Return all settings that a round may train, given the table of the previous round."""
        fixed = {} if previous is None else previous.best_params
        return [fixed | setting for setting in self._stages[number]]

    settings = grid  # the settings that it does train


class HalvingRounds:
    """Rounds with ever fewer settings and ever more rows: see `Halving`."""

    def __init__(
        self, grid: Settings, factor: int, searches: list[Splits], y: NDArray[Any], seed: int
    ) -> None:
        self._grid = grid
        trains = [train for splits in searches for train, _ in splits]
        smallest = min(int(np.unique(y[train], return_counts=True)[1].min()) for train in trains)
        self.n_settings = _halved(len(grid), factor, smallest)
        shares = [factor**power for power in reversed(range(len(self.n_settings)))]
        self._rounds = [
            [[(_drawn(train, share, y, seed), test) for train, test in splits] for splits in searches]
            for share in shares
        ]
        self.splits = list(chain(*chain(*self._rounds)))

    def searches(self, number: int) -> tuple[int, list[Splits]]:
        searches = self._rounds[number]
        return number * sum(map(len, searches)), searches

    def grid(self, number: int, previous: Table | None) -> Settings:
        return self._grid

    def settings(self, number: int, previous: Table | None) -> Settings:
        return self._grid if previous is None else best_settings(previous, self.n_settings[number])


def rounds_of(
    param_grid: object, stages: list[Settings], searches: list[Splits], y: NDArray[Any], seed: int
) -> StageRounds | HalvingRounds:
    """Return the rounds for a `param_grid`."""
    if isinstance(param_grid, Halving):
        return HalvingRounds(stages[0], param_grid.factor, searches, y, seed)
    return StageRounds(stages, searches)


def best_settings(table: Table, n_best: int) -> Settings:
    """Return the settings with the best means, in the order of the table; the first ones win ties."""
    means = comparable(table.mean_scores())
    order = np.argsort(np.where(np.isnan(means), np.inf, -means), kind="stable")
    return [table.settings[index] for index in sorted(order[:n_best])]


def _halved(n_settings: int, factor: int, smallest_class: int) -> list[int]:
    """Return the number of settings of each round."""
    numbers = [n_settings]
    while factor ** len(numbers) <= n_settings and smallest_class >= MIN_ROWS * factor ** len(numbers):
        numbers.append(-(-numbers[-1] // factor))
    return numbers


def _drawn(rows: NDArray[np.int64], share: int, y: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """Draw 1 / `share` of the rows, in proportion to the classes, and keep their order."""
    if share == 1:
        return rows
    options = {"replace": False, "stratify": y[rows], "random_state": seed}
    positions = resample(np.arange(len(rows)), n_samples=-(-len(rows) // share), **options)
    return np.asarray(rows[np.sort(positions)])
