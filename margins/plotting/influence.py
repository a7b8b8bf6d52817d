"""Margins of each sample by the models with and without it."""

from typing import TYPE_CHECKING, Self

import numpy as np

from margins.model_selection.leave_one_out import LeaveOneOut
from margins.plotting.style import COLOURS, GRID, Display, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class InfluenceDisplay(Display):
    """The margin of each sample by the model with it, and by the model without it.

    Samples on the diagonal do not influence their margin. The lower a sample is, the more the other
    samples contradict it; the samples with the smallest margins are marked with their number.

    Parameters
    ----------
    result : margins.model_selection.LeaveOneOut
    n_marked : int
        Number of samples to mark.

    Attributes
    ----------
    marked : ndarray of int, shape (n_marked,)
        Numbers of the marked samples, the smallest margin first.

    See Also
    --------
    margins.leave_one_out : Computes the result.

    Examples
    --------
    >>> import margins
    >>> from margins.plotting import InfluenceDisplay
    >>> result = margins.leave_one_out(classifier, X, y)  # doctest: +SKIP
    >>> InfluenceDisplay.from_result(result).figure_.savefig("influence.png")  # doctest: +SKIP
    """

    def __init__(self, result: LeaveOneOut, n_marked: int = 10) -> None:
        self.result = result
        self.marked = np.argsort(result.margins, kind="stable")[:n_marked]

    @classmethod
    def from_result(cls, result: LeaveOneOut, *, n_marked: int = 10, ax: "Axes | None" = None) -> Self:
        """Draw a result of `margins.leave_one_out`, and return the display.

        Parameters are as for the class; `ax` has the axes to draw on, new ones by default.
        """
        return cls(result, n_marked).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, and return the display."""
        ax, result = self._axes(ax, size=(6.4, 5.0)), self.result
        finite = np.isfinite(result.margins) & np.isfinite(result.full_margins)
        wrong = result.predictions != result.y
        for is_drawn, name, colour, marker in (
            (finite & ~wrong, "predicted right without it", COLOURS[0], "o"),
            (finite & wrong, "predicted wrong without it", COLOURS[1], "s"),
        ):
            if is_drawn.any():
                x, y = result.full_margins[is_drawn], result.margins[is_drawn]
                ax.scatter(x, y, s=14, color=colour, marker=marker, alpha=0.7, linewidths=0, label=name)
        ax.axline((0, 0), slope=1, color="0.5", linewidth=0.9, linestyle="--")
        ax.axhline(0, color="0.5", linewidth=0.9)
        for number in self.marked[finite[self.marked]]:
            place = result.full_margins[number], result.margins[number]
            ax.annotate(str(number), place, (4, -3), textcoords="offset points", fontsize="small")
        ax.set(xlabel="margin by the model with the sample", ylabel="margin by the model without it")
        ax.set_title(f"leave-one-out error {result.error:.3g}")
        ax.grid(**GRID)
        legend(ax)
        return self
