"""Mean ranks of algorithms over data sets; bars join ranks that do not differ significantly."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from margins.model_selection.ranks import Ranking
from margins.plotting.style import COLOURS, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RanksDisplay(Display):
    """Critical-difference diagram: mean ranks on an axis, with bars over ranks that do not differ.

    Parameters
    ----------
    ranking : margins.model_selection.Ranking
    confidence : float, in (0, 1)

    Attributes
    ----------
    groups : list of (float, float)
        The mean ranks at the ends of each bar.

    See Also
    --------
    ComparisonDisplay : Compares studies of one data set.

    Examples
    --------
    >>> from margins.model_selection import Ranking
    >>> from margins.plotting import RanksDisplay
    >>> scores = [[0.9, 0.8], [0.8, 0.7], [0.95, 0.9]]
    >>> display = RanksDisplay(Ranking(scores, ["mpu", "pam"], ["a", "b", "c"]))
    >>> display.plot().figure_.savefig("ranks.png")  # doctest: +SKIP
    """

    def __init__(self, ranking: Ranking, confidence: float = 0.95) -> None:
        self.ranking, self.confidence = ranking, confidence
        ranks, difference = np.sort(ranking.mean_ranks).tolist(), ranking.critical_difference(confidence)
        self.groups = _groups(ranks, difference)

    @classmethod
    def from_ranking(
        cls, ranking: Ranking, *, confidence: float = 0.95, ax: "Axes | None" = None
    ) -> Self:
        """Draw a ranking, and return the display.

        Parameters are as for the class; `ax` has the axes to draw on, new ones by default.
        """
        return cls(ranking, confidence).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, and return the display."""
        ranking = self.ranking
        k = len(ranking.algorithms)
        ax = self._axes(ax, size=(6.4, 1.5 + 0.25 * k))
        order = np.argsort(ranking.mean_ranks, kind="stable")
        depth = 0.6 + 0.18 * len(self.groups)
        for place, index in enumerate(order):
            value = ranking.mean_ranks[index]
            is_left = place < (k + 1) // 2
            height = depth + 0.4 * (place if is_left else k - 1 - place)
            side = 0.7 if is_left else k + 0.3
            ax.plot([value, value, side], [0, height, height], color="0.3", linewidth=0.9)
            text, side_of_text = (
                f" {ranking.algorithms[index]} ({value:.3g}) ",
                ("left", "right")[is_left],
            )
            ax.text(side, height, text, ha=side_of_text, va="center")
        bar: dict[str, Any] = {"color": COLOURS[0], "linewidth": 4, "solid_capstyle": "butt"}
        for number, (low, high) in enumerate(self.groups):
            ax.plot([low - 0.03, high + 0.03], [0.3 + 0.18 * number] * 2, **bar)
        difference = ranking.critical_difference(self.confidence)
        ax.set_title(
            f"mean ranks by {ranking.metric} on {len(ranking.data_sets)} data sets\n"
            f"critical difference {difference:.3g} at {100 * self.confidence:g} %",
            fontsize="medium",
        )
        ax.set_xlim(1 - 0.05 * k, k + 0.05 * k)
        ax.set_ylim(depth + 0.4 * ((k + 1) // 2), 0)  # downwards, as the axis is on top
        ax.set_xticks(range(1, k + 1))
        ax.xaxis.tick_top()
        ax.yaxis.set_visible(False)
        ax.spines[["left", "right", "bottom"]].set_visible(False)
        return self


def _groups(ranks: list[float], difference: float) -> list[tuple[float, float]]:
    """Return the largest ranges of at least two ascending ranks that span at most `difference`."""
    groups: list[tuple[float, float]] = []
    for begin, low in enumerate(ranks):
        joined = [rank for rank in ranks[begin:] if rank - low <= difference]
        if len(joined) > 1 and (not groups or joined[-1] > groups[-1][1]):
            groups.append((low, joined[-1]))
    return groups
