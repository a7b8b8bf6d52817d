"""Comparison of studies, with intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from margins.model_selection.compare import Comparison, compare
from margins.model_selection.intervals import CONFIDENCE
from margins.model_selection.study import Study
from margins.parameters import OneOf, check
from margins.plotting.style import COLOURS, GRID, Display, metric_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer

KINDS = ("scores", "differences")
INTERVALS = {"t": "T interval", "corrected": "corrected interval"}


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Means of studies or of their paired differences, with intervals.

    Parameters
    ----------
    names : list of str
    means : ndarray of float64, shape (n,)
    intervals : ndarray of float64, shape (n, 2)
    metric : str
    kind : str
        "scores", or "differences" of pairs on the same folds.
    about : str
        Description of the intervals, for the legend.

    Attributes
    ----------
    errorbar_ : matplotlib.container.ErrorbarContainer

    See Also
    --------
    LandscapeDisplay : The settings of one study.

    Examples
    --------
    >>> from margins.plotting import ComparisonDisplay
    >>> display = ComparisonDisplay(
    ...     ["pam", "mpu"], np.array([0.9, 0.95]), np.array([[0.8, 1.0], [0.9, 1.0]]), "accuracy"
    ... )
    >>> display.plot().figure_.savefig("comparison.png")  # doctest: +SKIP
    """

    names: list[str]
    means: NDArray[np.float64]
    intervals: NDArray[np.float64]
    metric: str
    kind: Literal["scores", "differences"] = "scores"
    about: str = "interval"
    errorbar_: "ErrorbarContainer" = field(init=False)

    @classmethod
    def from_studies(
        cls,
        studies: Mapping[str, Study] | Iterable[Study] | Comparison,
        *,
        metric: str | None = None,
        kind: Literal["scores", "differences"] = "scores",
        interval: Literal["t", "corrected"] = "corrected",
        confidence: float | None = None,
        ax: "Axes | None" = None,
        **errorbar_kw: Any,
    ) -> Self:
        """Draw studies of the same data and folds, and return the display.

        Parameters
        ----------
        studies : dict of Study, list of Study, or Comparison
            Studies as for `margins.model_selection.compare`, or its result.
        metric : str, optional
            Default: the metric that decided in the first study.
        kind : str
            "scores": the mean of every study. "differences": the mean difference of every pair, fold by
            fold; it is significant if its interval does not contain 0.
        interval : str
            "corrected": Nadeau and Bengio's interval, which allows for overlapping training sets. "t":
            the papers' T interval, which does not and is narrower.
        confidence : float, in (0, 1), optional
            Default: the confidence of the comparison, or 0.95.
        ax : matplotlib.axes.Axes, optional
        **errorbar_kw
            Keywords of ``Axes.errorbar``.

        Raises
        ------
        TypeError, ValueError
            If the studies cannot be compared, or an argument is not allowed.
        """
        check("kind", "ComparisonDisplay", kind, OneOf(*KINDS))
        check("interval", "ComparisonDisplay", interval, OneOf(*INTERVALS))
        if isinstance(studies, Comparison):
            metric = studies.metric if metric is None else metric
            confidence = studies.confidence if confidence is None else confidence
            studies = studies.studies
        confidence = CONFIDENCE if confidence is None else confidence
        studies = compare(studies, metric=metric, confidence=confidence)
        metric = studies.metric
        attribute = "interval" if interval == "t" else "corrected_interval"
        if kind == "differences":
            pairs = studies.differences
            names = [f"{pair.first} - {pair.second}" for pair in pairs]
            means = [pair.mean for pair in pairs]
            ends = [getattr(pair, attribute) for pair in pairs]
        else:
            names, compared = list(studies.studies), studies.studies.values()
            means = [study.mean(metric) for study in compared]
            ends = [getattr(study, attribute)(metric, confidence) for study in compared]
        about = f"mean and {100 * confidence:g} % {INTERVALS[interval]}"
        display = cls(names, np.array(means), np.array(ends), metric, kind, about)
        return display.plot(ax, **errorbar_kw)

    def plot(self, ax: "Axes | None" = None, **errorbar_kw: Any) -> Self:
        """Draw, and return the display."""
        ax = self._axes(ax, size=(6.4, 1.4 + 0.42 * len(self.names)))
        positions = np.arange(len(self.names))
        errors = np.abs(self.intervals.T - self.means)
        looks: dict[str, Any] = {"fmt": "o", "color": COLOURS[0], "capsize": 4, "label": self.about}
        self.errorbar_ = ax.errorbar(self.means, positions, xerr=errors, **looks | errorbar_kw)
        label = metric_label(self.metric)
        if self.kind == "differences":
            ax.axvline(0, color="0.4", linewidth=0.9, linestyle=":")
            label = f"difference in {label}"
        ax.set_yticks(positions, self.names)
        ax.set_ylim(len(positions) - 0.5, -0.5)  # the first study on top
        ax.set_xlabel(label)
        ax.grid(axis="x", **GRID)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        return self
