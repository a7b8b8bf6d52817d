"""Comparisons of studies, of algorithms over data sets, and of models."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from margins.interchange.certification import Certification
from margins.model_selection.compare import Comparison, compare
from margins.model_selection.intervals import CONFIDENCE
from margins.model_selection.leave_one_out import LeaveOneOut
from margins.model_selection.permutation import PermutationTest
from margins.model_selection.ranks import Ranking
from margins.model_selection.study import Study
from margins.parameters import OneOf, check
from margins.plotting.style import COLOURS, GRID, Display, legend, metric_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer

KINDS = ("scores", "differences")
INTERVALS = {"t": "T interval", "corrected": "corrected interval"}
LABELS = 24  # one above the other, beside the axes
SMALLEST = 1e-16  # no relative gap below this can be computed


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
            ax.axvline(0, color="0.5", linewidth=0.9, linestyle=":")
            label = f"difference in {label}"
        ax.set_yticks(positions, self.names)
        ax.set_ylim(len(positions) - 0.5, -0.5)  # the first study on top
        ax.set_xlabel(label)
        ax.grid(axis="x", **GRID)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        return self


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
            ax.plot([value, value, side], [0, height, height], color="0.5", linewidth=0.9)
            text = f" {ranking.algorithms[index]} ({value:.3g}) "
            ax.text(side, height, text, ha="right" if is_left else "left", va="center")
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


class InfluenceDisplay(Display):
    """The margin of each sample by the model with it, and by the model without it.

    Samples on the diagonal do not influence their margin. The lower a sample is, the more the other
    samples contradict it; the samples with the smallest margins are marked with their number,
    at the right edge.

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
        marked = self.marked[finite[self.marked]]
        (low, high), order = ax.get_ylim(), np.arange(len(marked))
        step = 1 / max(len(marked), LABELS)
        heights = np.minimum((result.margins[marked] - low) / (high - low), 1 - step * order[::-1])
        heights = np.maximum.accumulate(heights - step * order) + step * order  # no two overlap
        ax.set_ylim(low, high)
        line = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.5}
        looks: dict[str, Any] = {"textcoords": "axes fraction", "va": "center", "fontsize": "small"}
        for number, height in zip(marked, heights, strict=True):
            place = result.full_margins[number], result.margins[number]
            ax.annotate(str(number), place, (1.02, height), arrowprops=line, **looks)
        ax.set(xlabel="margin by the model with the sample", ylabel="margin by the model without it")
        ax.set_title(f"leave-one-out error {result.error:.3g}")
        ax.grid(**GRID)
        legend(ax)
        return self


class PermutationTestDisplay(Display):
    """Histogram of the scores with permuted labels, and the score with the labels passed.

    Parameters
    ----------
    test : margins.model_selection.PermutationTest

    See Also
    --------
    margins.model_selection.permutation_test : Computes the test.

    Examples
    --------
    >>> from margins.model_selection import permutation_test
    >>> from margins.plotting import PermutationTestDisplay
    >>> test = permutation_test(classifier, X, y)  # doctest: +SKIP
    >>> PermutationTestDisplay.from_test(test).figure_.savefig("test.png")  # doctest: +SKIP
    """

    def __init__(self, test: PermutationTest) -> None:
        self.test = test

    @classmethod
    def from_test(cls, test: PermutationTest, *, ax: "Axes | None" = None, **hist_kw: Any) -> Self:
        """Draw a test, and return the display; `hist_kw` are keywords of ``Axes.hist``."""
        return cls(test).plot(ax, **hist_kw)

    def plot(self, ax: "Axes | None" = None, **hist_kw: Any) -> Self:
        """Draw, and return the display."""
        ax, test = self._axes(ax), self.test
        looks: dict[str, Any] = {"bins": "auto", "color": COLOURS[0], "label": "permuted labels"}
        ax.hist(test.permuted_scores, **looks | hist_kw)
        label = f"labels as passed: {test.score:.3g}, p = {test.p_value:.3g}"
        ax.axvline(test.score, color=COLOURS[1], linestyle="--", label=label)
        ax.set(xlabel=metric_label(test.metric), ylabel="permutations")
        ax.grid(axis="y", **GRID)
        legend(ax)
        return self
