"""Import of matplotlib, colours, markers and axes of all figures."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from margins.model_selection.intervals import is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure

# Okabe & Ito (2008), Color Universal Design, the strongest first, without yellow, too faint for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":")
COLOUR_MAP = "cividis"  # even in lightness, blue to yellow
GRID: dict[str, Any] = {"color": "0.5", "alpha": 0.3, "linewidth": 0.6}
BAND = 0.18  # opacity
SMALL_LEGEND = 4  # entries
ROWS = 14  # of a column of a legend outside
MANY = 20  # curves; more have no colour and no name each


def pyplot(caller: str) -> Any:
    """matplotlib.pyplot, imported when a figure is drawn.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            f"plot of {caller} needs matplotlib: pip install scikit-margins[plot]"
        ) from error
    return matplotlib.pyplot


class Display:
    """A figure that can be drawn again."""

    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def _axes(self, ax: "Axes | None", size: tuple[float, float] = (6.4, 4.2)) -> "Axes":
        """Axes to draw on, given or new, kept as `ax_` and `figure_`."""
        if ax is None:
            plt = pyplot(type(self).__name__)
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        ax.set_axisbelow(True)
        return ax


def look(index: int) -> dict[str, Any]:
    """Colour, marker and dashes of the line of that index: dict. They repeat after three rounds."""
    turn, place = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[place],
        "marker": MARKERS[(place + turn) % len(MARKERS)],
        "linestyle": DASHES[turn % len(DASHES)],
    }


def looks_of(index: int, n_curves: int) -> dict[str, Any]:
    """`look` of a curve: dict. More than `MANY` curves are all alike, thin and without markers."""
    if n_curves <= MANY:
        return look(index)
    return {"color": COLOURS[0], "linewidth": 0.7, "alpha": 0.5}


def labels_of(names: Sequence[str]) -> list[str]:
    """Entries of the legend: list of str. More than `MANY` curves have one entry, their number."""
    if len(names) <= MANY:
        return list(names)
    return [f"{len(names)} problems", *["_"] * (len(names) - 1)]  # matplotlib leaves out names with _


def legend(ax: "Axes", title: str | None = None) -> None:
    """Draw a legend inside the axes, if it is small, else to the right, in columns."""
    n_entries = len(ax.get_legend_handles_labels()[1])
    if n_entries <= SMALL_LEGEND:
        ax.legend(title=title)
    else:
        ax.legend(
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            fontsize="small",
            ncols=-(-n_entries // ROWS),
        )


def count_on(axis: "Axis") -> None:
    """Label an axis of counts: few ticks, at whole numbers, thousands as k and millions as M."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(EngFormatter(sep=""))


def scale_for(arrays: Iterable[ArrayLike], ratio: float) -> str:
    """A scale for values: "log" if all are positive and the greatest is `ratio` times the least."""
    values = np.concatenate([np.ravel(each) for each in arrays]).astype(float)
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() >= ratio * values.min():
        return "log"
    return "linear"


def with_defaults(defaults: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """Keywords of matplotlib; given ones replace defaults."""
    return defaults | (given or {})


def metric_label(metric: str) -> str:
    """A metric with its unit for an axis: scores of scikit-learn have none but their range."""
    return f"{metric} (share)" if is_share(metric) else metric
