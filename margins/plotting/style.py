"""Import of matplotlib, colours, markers and axes of all figures."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from margins.model_selection.intervals import is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Okabe & Ito (2008), Color Universal Design, the strongest first, without yellow, too faint for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":")
COLOUR_MAP = "cividis"  # even in lightness, blue to yellow
GRID: dict[str, Any] = {"color": "0.85", "linewidth": 0.6}
BAND = 0.18  # opacity
SMALL_LEGEND = 4  # entries


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


def legend(ax: "Axes") -> None:
    """A legend inside, if it is small, else to the right."""
    if len(ax.get_legend_handles_labels()[1]) <= SMALL_LEGEND:
        ax.legend()
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


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
