"""Import of matplotlib, and the colours, markers and axes of all figures."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from margins.model_selection.intervals import is_share
from margins.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Okabe & Ito (2008), Color Universal Design, strongest first, with grey for black and
# without yellow, which is too faint.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":")
COLOUR_MAP = "cividis"  # even in lightness, blue to yellow
GRID: dict[str, Any] = {"color": "0.5", "alpha": 0.3, "linewidth": 0.6}
BAND = 0.18  # opacity
SMALL_LEGEND = 4  # entries
ROWS = 14  # rows in a column of a legend outside the axes


class Display:
    """A figure that can be drawn again."""

    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def _axes(self, ax: "Axes | None", size: tuple[float, float] = (6.4, 4.2)) -> "Axes":
        """Return `ax` or new axes, and set `ax_` and `figure_`."""
        if ax is None:
            plt = require(f"plot of {type(self).__name__}", "matplotlib.pyplot")
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.set_axisbelow(True)
        return ax


def look(index: int) -> dict[str, Any]:
    """Return the colour, marker and dashes of a line by its index."""
    turn, number = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[number],
        "marker": MARKERS[(number + turn) % len(MARKERS)],
        "linestyle": DASHES[turn % len(DASHES)],
    }


def legend(ax: "Axes", title: str | None = None, most_inside: int = SMALL_LEGEND) -> None:
    """Draw a small legend inside the axes, and a larger one to the right, in columns."""
    n_entries = len(ax.get_legend_handles_labels()[1])
    looks: dict[str, Any] = {}
    if n_entries > most_inside:
        looks = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "ncols": -(-n_entries // ROWS)}
        looks |= {"frameon": False, "fontsize": "small"}
    ax.legend(title=title, **looks)


def scale_for(arrays: Iterable[ArrayLike], ratio: float) -> str:
    """Return "log" if all values are positive and span at least the ratio, otherwise "linear"."""
    values = np.concatenate([np.ravel(array) for array in arrays]).astype(float)
    values = values[np.isfinite(values)]
    if len(values) and values.min() > 0 and values.max() >= ratio * values.min():
        return "log"
    return "linear"


def metric_label(metric: str) -> str:
    """Return the label of a metric for an axis; instead of a unit, it shows that a metric is a share."""
    return f"{metric} (share)" if is_share(metric) else metric
