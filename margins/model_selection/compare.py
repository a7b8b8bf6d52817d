"""Comparison of studies, fold by fold."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from margins.model_selection import intervals
from margins.model_selection.intervals import CONFIDENCE, ConfidenceInterval
from margins.model_selection.study import Study
from margins.model_selection.tables import Bold, Printed, estimate
from margins.registry import name_of_path
from margins.text import aligned


class Difference(NamedTuple):
    """Score of the study `first` minus score of the study `second`, on the same folds."""

    first: str
    second: str
    differences: NDArray[np.float64]  # array, shape (n_folds,)
    mean: float
    interval: ConfidenceInterval  # about the mean
    corrected_interval: ConfidenceInterval


class Comparison(Printed):
    """Result of `compare`: paired differences of studies.

    The rows of its tables: "algorithms", with mean and corrected interval, in which bold (in a frame
    `may_be_best`) are the best mean and all whose corrected interval of the difference from it holds 0;
    "pairs", with the differences.

    Attributes
    ----------
    studies : dict of Study
    metric : str
    confidence : float
    differences : list of Difference
        One for every pair, in the order of the studies. Its `differences` are an ndarray of float64,
        shape (n_folds,), and its intervals are about their mean.

    See Also
    --------
    compare : Returns a comparison.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import compare, parameter_search
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]], [1, 1, 0, 0, 1, 0]
    >>> pam, averaged = margins.get("pam")(), margins.get("averaged-perceptron")()
    >>> compare([parameter_search(each, {}, X, y, cv=2, random_state=0) for each in (pam, averaged)])
    <Comparison of pam, averaged-perceptron by accuracy>
    """

    def __init__(self, studies: dict[str, Study], metric: str, confidence: float) -> None:
        self.studies, self.metric, self.confidence = studies, metric, confidence
        self.differences = [self._difference(*pair) for pair in combinations(studies, 2)]

    def _difference(self, first: str, second: str) -> Difference:
        study = self.studies[first]
        differences = study.scores(self.metric) - self.studies[second].scores(self.metric)
        values = differences.tolist()
        interval = intervals.t_interval(values, self.confidence)
        corrected = intervals.corrected_interval(values, *study.sizes, self.confidence)
        both = (intervals.within_range(each, self.metric, -1.0) for each in (interval, corrected))
        return Difference(first, second, differences, intervals.mean(values), *both)

    _kinds: ClassVar[tuple[str, ...]] = "algorithms", "pairs"

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        ends = "low", "high", "corrected_low", "corrected_high"
        if kind == "pairs":
            columns = "first", "second", "difference", *ends
            pairs = [
                (d.first, d.second, d.mean, *d.interval, *d.corrected_interval) for d in self.differences
            ]
            return [dict(zip(columns, pair, strict=True)) for pair in pairs]
        means = {name: study.mean(self.metric) for name, study in self.studies.items()}
        best = max(means, key=means.__getitem__)
        rows = []
        for name, study in self.studies.items():
            both = study.interval, study.corrected_interval
            numbers = [end for of in both for end in of(self.metric, self.confidence)]
            may_be_best = self._difference(best, name).corrected_interval.low <= 0
            row = {"algorithm": name, "mean": means[name], **dict(zip(ends, numbers, strict=True))}
            rows.append({**row, "may_be_best": may_be_best or means[name] == means[best]})
        return rows

    def _rows_in_words(self, kind: str, number: Any) -> list[dict[str, Any]]:
        metric, level = self.metric.replace("_", " "), f"corrected {100 * self.confidence:g} % interval"
        mean_name, heading = "mean", f"{metric} ({level})"
        if kind == "pairs":
            mean_name, heading = "difference", f"difference in {metric} ({level})"
        rows = []
        for row in self._rows(kind):
            text = estimate(row[mean_name], row["corrected_low"], row["corrected_high"], number)
            cells: dict[str, Any] = {name: row[name] for name in row if isinstance(row[name], str)}
            cells[heading] = Bold(text) if row.get("may_be_best") else text
            rows.append(cells)
        return rows

    def summary(self) -> str:
        """Return readable tables of the means and of the differences."""
        level = f"{100 * self.confidence:g} %"
        rows = [["", self.metric, f"{level} T interval", "corrected"]]
        for name, study in self.studies.items():
            cells = [
                _text(interval_of(self.metric, self.confidence))
                for interval_of in (study.interval, study.corrected_interval)
            ]
            rows.append([name, f"{study.mean(self.metric):z.4f}", *cells])
        pairs = [["", "difference", f"{level} T interval", "corrected"]]
        for difference in self.differences:
            cells = [_text(difference.interval, "+"), _text(difference.corrected_interval, "+")]
            names = f"{difference.first} - {difference.second}"
            pairs.append([names, f"{difference.mean:+z.4f}", *cells])
        return "\n".join([aligned(rows, left=(0, 3)), "", aligned(pairs, left=(0, 3))])

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.studies)} by {self.metric}>"


def _text(interval: ConfidenceInterval, sign: str = "-") -> str:
    return f"[{interval.low:{sign}z.4f}, {interval.high:{sign}z.4f}]"


def compare(
    studies: Mapping[str, Study] | Iterable[Study],
    *,
    metric: str | None = None,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare studies of the same data and folds, by paired differences."""
    if isinstance(studies, Study):
        raise TypeError("studies of compare must be a dict or a list of Studies. Got one Study.")
    named = dict(studies) if isinstance(studies, Mapping) else _named(studies)
    for name, study in named.items():
        if not isinstance(study, Study):
            raise TypeError(f"studies of compare must be Studies. Got {study!r} for {name!r}.")
    if len(named) < 2:
        raise ValueError(f"studies of compare must be at least 2. Got {len(named)}.")
    (first_name, first), *others = named.items()
    for name, study in others:
        if study.data != first.data or not _same_folds(study, first):
            raise ValueError(
                "studies of compare must have the same data and the same folds. "
                f"Got different ones for {name!r} and {first_name!r}."
            )
    return Comparison(named, metric or first.refit, confidence)


def _named(studies: Iterable[Study]) -> dict[str, Study]:
    named: dict[str, Study] = {}
    for study in studies:
        path = getattr(study, "estimator", repr(study))
        name = stem = name_of_path(path) or path.rpartition(".")[2]
        number = 1
        while name in named:
            number += 1
            name = f"{stem} {number}"
        named[name] = study
    return named


def _same_folds(first: Study, second: Study) -> bool:
    return len(first.folds) == len(second.folds) and all(
        np.array_equal(fold.train, twin.train) and np.array_equal(fold.test, twin.test)
        for fold, twin in zip(first.folds, second.folds, strict=True)
    )
