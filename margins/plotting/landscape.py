"""Scores of a search against its parameters."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from margins.model_selection.intervals import ConfidenceInterval, corrected_interval, within_range
from margins.model_selection.records import encoded
from margins.model_selection.study import Study, Table
from margins.plotting.style import BAND, COLOUR_MAP, GRID, Display, legend, look, metric_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colorbar import Colorbar
    from matplotlib.lines import Line2D

DODGE = 0.1  # shift between lines, in factors of two
BARS = 0.6  # opacity
GAP = 1.6  # distance of the inactive value, in units of the typical distance of the other values
STAR: dict[str, Any] = {"marker": "*", "s": 160}
MOST_COLUMNS = 10  # of a map with numbers in its cells
MOST_LABELS = 8  # side by side


class Places:
    """Positions of a parameter's values on an axis.

    Positive numbers are placed at their logarithms; 0 is placed before and inf after them, with a gap.
    Other values (names, negative numbers) have equal distances.
    """

    def __init__(self, name: str, values: Iterable[Any]) -> None:
        self.name = name
        self.values = list({repr(value): value for value in values}.values())  # dicts have no hash
        self.inactive = [False] * len(self.values)
        self.numeric = all(isinstance(item, Real) and not isinstance(item, bool) for item in self.values)
        if self.numeric:
            self.values.sort()
            self.inactive = [number == 0 or number == math.inf for number in self.values]
        active = [number for number, off in zip(self.values, self.inactive, strict=True) if not off]
        if not self.numeric or not active or min(active) < 0:
            self.places = np.arange(len(self.values), dtype=float)
            return
        logs = np.log2(np.array(active, dtype=float))
        step = GAP * (float(np.median(np.diff(logs))) if len(logs) > 1 else 1.0)
        places = dict(zip(active, logs, strict=True))
        places |= {0: logs[0] - step, math.inf: logs[-1] + step}
        self.places = np.array([places[number] for number in self.values])

    def label(self, index: int) -> str:
        """Return the text of a tick."""
        value = self.values[index]
        text = f"{value:.4g}" if self.numeric else str(value)
        text = "∞" if text == "inf" else text
        return f"{text}\n(off)" if self.inactive[index] else text

    def runs(self) -> list[slice]:
        """Return the ranges of values that a line connects; every inactive value is a separate range."""
        active = [index for index, off in enumerate(self.inactive) if not off]
        single = [slice(index, index + 1) for index, off in enumerate(self.inactive) if off]
        return single + ([slice(active[0], active[-1] + 1)] if active else [])

    def borders(self, places: NDArray[Any] | None = None) -> list[float]:
        """Return the positions of the gaps, on an axis with the values at `places`."""
        places = self.places if places is None else places
        return [float(places[i : i + 2].mean()) for i in np.flatnonzero(np.diff(self.inactive))]

    def draw(self, axis: Any, line: Callable[..., Any], places: NDArray[Any] | None = None) -> None:
        """Set ticks and labels of an axis, and draw dotted lines (by `line`) through the gaps."""
        places = self.places if places is None else places
        axis.set_ticks(places)
        axis.set_ticklabels([self.label(index) for index in range(len(self.values))])
        axis.set_tick_params(which="minor", length=0)
        if axis.axis_name == "x" and len(places) > MOST_LABELS:
            axis.set_tick_params(rotation=90)
        axis.set_label_text(self.name)
        for place in self.borders(places):
            line(place, color="0.5", linewidth=0.9, linestyle=":")


@dataclass(eq=False, repr=False)
class LandscapeDisplay(Display):
    """The mean score of every setting of a study: lines over one parameter, or a map of two.

    A map with up to 10 columns has the scores in its cells.

    A value that switches its parameter off, 0 or inf, has a separate place on the axis, behind a dotted
    line.

    Parameters
    ----------
    x : Places
        Positions of the parameter on the horizontal axis.
    y : Places or None
        Positions of the second parameter: a line for each value, or the vertical axis of a map.
    scores : ndarray of float64, shape (n_y, n_x)
        Means; nan for settings that were not tried. n_y is 1 without a second parameter.
    low, high : ndarray of float64, shape (n_y, n_x)
        Ends of the intervals, which `about` describes.
    best : tuple of int, or None
        Row and column of the setting to mark. None: the choice was made in another stage, or other
        settings were as good or chosen as often.
    metric : str
    kind : str
        "lines" or "map".
    about : str
        Description of the intervals: a band around a line, or a bar through a marker.
    best_label : str
        Description of the marked setting.

    Attributes
    ----------
    lines_ : list of list of matplotlib.lines.Line2D
        The pieces of each line; a value that switches the parameter off is a separate piece.
    mesh_, colorbar_ : matplotlib.collections.QuadMesh, matplotlib.colorbar.Colorbar
        Only for a map.

    See Also
    --------
    ComparisonDisplay : Compares several studies.

    Examples
    --------
    >>> from margins.plotting import LandscapeDisplay
    >>> display = LandscapeDisplay.from_study(study, x="tau")  # doctest: +SKIP
    >>> display.figure_.savefig("tau.png")  # doctest: +SKIP
    """

    x: Places
    y: Places | None
    scores: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    best: tuple[int, int] | None
    metric: str
    kind: Literal["lines", "map"] = "lines"
    about: str = "interval"
    best_label: str = "best"
    lines_: "list[list[Line2D]]" = field(init=False)
    mesh_: "QuadMesh" = field(init=False)
    colorbar_: "Colorbar" = field(init=False)

    @classmethod
    def from_study(
        cls,
        study: Study,
        *,
        x: str | None = None,
        y: str | None = None,
        metric: str | None = None,
        stage: int | None = None,
        kind: Literal["lines", "map"] | None = None,
        ax: "Axes | None" = None,
        **kw: Any,
    ) -> Self:
        """Draw the tables of a study, and return the display.

        The band of a parameter search is the 95 % corrected interval over the folds; of a double
        cross-validation it reaches from the smallest to the largest mean of the outer folds, around
        their average. Among settings that differ only in other parameters, the best is drawn.

        Parameters
        ----------
        study : Study
        x, y : str, optional
            Parameters of the axes. Default: `x` is the first parameter that varies and has numbers; if
            two parameters vary, `y` is the other one.
        metric : str, optional
            Default: the metric that decided.
        stage : int, optional
            Stage of a search in stages, or round of a halving. Default: the last stage, or the first
            round of a halving, which has all settings.
        kind : str, optional
            "lines" or "map". Default: a map if both parameters have numbers.
        ax : matplotlib.axes.Axes, optional
        **kw
            Keywords of ``Axes.plot`` or ``Axes.pcolormesh``.

        Raises
        ------
        ValueError
            If a parameter does not vary in the study, if none does, or if outer folds have different
            settings in the round of a halving.
        """
        halving = len(study.tables[0].splits[0][0]) < len(study.tables[-1].splits[0][0])
        if stage is None:
            stage = 0 if halving else -1
        n_stages = max(table.stage for table in study.tables) + 1
        if not -n_stages <= stage < n_stages:
            raise ValueError(
                f"stage of LandscapeDisplay must be in [{-n_stages}, {n_stages - 1}]. Got {stage!r}."
            )
        tables = [table for table in study.tables if table.stage == range(n_stages)[stage]]
        settings = tables[0].settings
        if halving and any(encoded(table.settings) != encoded(settings) for table in tables):
            raise ValueError(
                "stage of LandscapeDisplay must be a round with the same settings in every outer fold, "
                f"such as 0. Got {stage!r}."
            )
        names = list(dict.fromkeys(name for setting in settings for name in setting))
        # In a union of grids, a parameter that a setting does not name has the estimator's value.
        settings = [
            {name: setting.get(name, study.params.get(name)) for name in names} for setting in settings
        ]
        varying = [name for name in names if len({repr(setting[name]) for setting in settings}) > 1]
        x, y = _chosen(settings, varying, x, y)
        across = Places(x, [setting[x] for setting in settings])
        up = None if y is None else Places(y, [setting[y] for setting in settings])
        metric = metric or study.refit
        study.scores(metric)  # raises ValueError if the study has no such metric
        shape = 1 if up is None else len(up.values), len(across.values)
        scores, low, high = (np.full(shape, np.nan) for _ in range(3))
        means = np.array([table.mean_scores(metric) for table in tables])
        ascending = np.argsort(np.nan_to_num(means.mean(axis=0), nan=-np.inf), kind="stable")
        for index in ascending:  # the best comes last and replaces the others
            cell = _cell(settings[index], across, up)
            scores[cell] = means[:, index].mean()
            if len(tables) > 1:
                ends = means[:, index].min(), means[:, index].max()
            else:
                ends = _interval(tables[0], metric, index)
            low[cell], high[cell] = ends
        best = study.best_params
        is_known = all(name in best for name in (x, y) if name is not None)
        has_best = halving or stage in (-1, n_stages - 1)
        shares = [share for _, share in study.selection_frequencies]
        best_cell = None
        if is_known and has_best and shares.count(shares[0]) == 1:
            best_cell = _cell(best, across, up)
            if len(tables) == 1 and not halving and np.sum(scores == scores[best_cell]) > 1:
                best_cell = None  # chosen because it came first
        if kind is None:
            kind = "map" if up is not None and up.numeric else "lines"
        if kind not in ("lines", "map") or (kind == "map" and up is None):
            raise ValueError(
                "kind of LandscapeDisplay must be 'lines', or 'map' if there are two parameters. "
                f"Got {kind!r}."
            )
        descriptions = "95 % corrected interval", "chosen in the last round" if halving else "best mean"
        if len(tables) > 1:
            descriptions = "smallest to largest of the outer folds", "chosen most often"
        display = cls(across, up, scores, low, high, best_cell, metric, kind, *descriptions)
        return display.plot(ax, **kw)

    def plot(self, ax: "Axes | None" = None, **kw: Any) -> Self:
        """Draw, and return the display."""
        ax = self._axes(ax)
        (self._map if self.kind == "map" else self._lines)(ax, kw)
        return self

    def _lines(self, ax: "Axes", kw: dict[str, Any]) -> None:
        self.lines_ = []
        n_lines = len(self.scores)
        for row, scores in enumerate(self.scores):
            # Shifted, so that intervals do not overlap.
            shift = DODGE * (row - (n_lines - 1) / 2)
            looks = look(row)
            pieces: list[Line2D] = []
            label = "mean" if self.y is None else f"{self.y.name} = {self.y.values[row]}"
            for run in self.x.runs():
                places = self.x.places[run] + shift
                line_looks = looks | {"label": None if pieces else label}
                pieces += ax.plot(places, scores[run], **line_looks | kw)
                low, high = self.low[row, run], self.high[row, run]
                if n_lines > 1:
                    ax.vlines(places, low, high, color=looks["color"], alpha=BARS)
                    continue
                note = self.about if len(pieces) == 1 else None
                if run.stop - run.start == 1:  # widen the band, which would have no width
                    places = places + np.array([-0.12, 0.12])
                    low, high = np.repeat(low, 2), np.repeat(high, 2)
                ax.fill_between(
                    places, low, high, label=note, color=looks["color"], alpha=BAND, linewidth=0
                )
            self.lines_.append(pieces)
        if n_lines > 1:
            ax.vlines([], [], [], color="0.5", label=self.about)  # an entry for the legend
        if self.best is not None:
            row, column = self.best
            place = self.x.places[column] + DODGE * (row - (n_lines - 1) / 2)
            ink = ax.yaxis.label.get_color()
            star = STAR | {"color": ink, "zorder": 4, "label": self.best_label}
            ax.scatter(place, self.scores[self.best], **star)
        self.x.draw(ax.xaxis, ax.axvline)
        ax.set_ylabel(metric_label(self.metric))
        ax.grid(axis="y", **GRID)
        legend(ax)

    def _map(self, ax: "Axes", kw: dict[str, Any]) -> None:
        n_up, n_across = self.scores.shape
        places = np.arange(n_across), np.arange(n_up)
        looks = {"cmap": COLOUR_MAP, "shading": "nearest"}
        self.mesh_ = ax.pcolormesh(*places, self.scores, **looks | kw)
        self.colorbar_ = ax.figure.colorbar(self.mesh_, ax=ax, label=f"mean {metric_label(self.metric)}")
        has_numbers = n_across <= MOST_COLUMNS
        for row, column in np.argwhere(np.isfinite(self.scores)) if has_numbers else ():
            score = self.scores[row, column]
            ink = "black" if sum(self.mesh_.to_rgba(score)[:3]) > 1.5 else "white"
            looks = {"ha": "center", "va": "center", "fontsize": "x-small", "color": ink}
            ax.text(column, row, f"{score:#.3g}", looks)
        if self.best is not None:
            star = STAR | {"color": "white", "edgecolors": "black", "label": self.best_label}
            ax.scatter(self.best[1], self.best[0] + 0.3 * has_numbers, **star)
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        self.x.draw(ax.xaxis, ax.axvline, places[0])
        if self.y is not None:
            self.y.draw(ax.yaxis, ax.axhline, places[1])


def _chosen(
    settings: list[dict[str, Any]], varying: list[str], x: str | None, y: str | None
) -> tuple[str, str | None]:
    """Return the parameters of the axes, as chosen by the caller or by default: str, str or None."""
    for axis, name in (("x", x), ("y", y)):
        if name is not None and name not in varying:
            raise ValueError(
                f"{axis} of LandscapeDisplay must be a parameter that varies in the study, one of "
                f"{', '.join(map(repr, varying)) or 'none'}. Got {name!r}."
            )
    if not varying:
        raise ValueError("study of LandscapeDisplay must vary a parameter. Got only one setting.")
    if x is None:
        free = [name for name in varying if name != y]
        values = {name: [setting[name] for setting in settings] for name in free}
        numeric = [name for name in free if Places(name, values[name]).numeric]
        x = (numeric or free)[0]
    if y is None and len(varying) == 2:
        y = next(name for name in varying if name != x)
    return x, y


def _interval(table: Table, metric: str, index: int) -> ConfidenceInterval:
    """Return the corrected interval of the mean score of a setting."""
    n_train = [len(train) for train, _ in table.splits]
    n_test = [len(test) for _, test in table.splits]
    interval = corrected_interval(table.scores[metric][index].tolist(), n_train, n_test)
    return within_range(interval, metric)


def _cell(setting: dict[str, Any], across: Places, up: Places | None) -> tuple[int, int]:
    row = 0 if up is None else up.values.index(setting[up.name])
    return row, across.values.index(setting[across.name])
