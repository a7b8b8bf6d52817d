"""Proven gaps of several models, side by side."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from margins.interchange.certification import Certification
from margins.plotting.style import COLOURS, GRID, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = 1e-16  # no relative gap below this can be computed


class GapsDisplay(Display):
    """Proven gaps of models: a row for each model, a point for each of its binary problems.

    A gap of 0.01 means that the objective is at most 1 % above the optimum. Models without a bound are
    marked at the right end.

    Parameters
    ----------
    gaps : dict of str to list of float
        For each model, the gap of each problem; inf: nothing is proven.

    See Also
    --------
    margins.certify : Proves them.

    Examples
    --------
    >>> display = GapsDisplay({"LinearSVC": [1e-4], "SGDClassifier": [0.28]})
    >>> display.plot().figure_.savefig("gaps.png")  # doctest: +SKIP
    """

    def __init__(self, gaps: Mapping[str, list[float]]) -> None:
        self.gaps = dict(gaps)

    @classmethod
    def from_results(cls, results: Mapping[str, Certification], *, ax: "Axes | None" = None) -> Self:
        """Draw results of `margins.certify` by their names, and return the display."""
        gaps = {name: [c.gap for c in result.certificates] for name, result in results.items()}
        return cls(gaps).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, and return the display."""
        if not self.gaps:
            raise ValueError(f"gaps of {type(self).__name__} must hold at least one model. Got none.")
        ax = self._axes(ax, size=(6.4, 1.2 + 0.32 * len(self.gaps)))
        finite = [gap for gaps in self.gaps.values() for gap in gaps if math.isfinite(gap)]
        end = 10 * max(finite, default=1.0)
        for row, gaps in enumerate(self.gaps.values()):
            known = [max(gap, SMALLEST) for gap in gaps if math.isfinite(gap)]
            ax.plot(known, [row] * len(known), "o", color=COLOURS[0], markersize=5, clip_on=False)
            if len(known) < len(gaps):
                ax.plot([end], [row], ">", color=COLOURS[1], markersize=6, clip_on=False)
        ax.set(
            xscale="log", xlabel="relative gap to the proven bound", ylim=(len(self.gaps) - 0.5, -0.5)
        )
        ax.set_yticks(range(len(self.gaps)), list(self.gaps))
        ax.grid(axis="x", **GRID)
        return self
