"""Several studies side by side, fold by fold."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from margins.model_selection.intervals import (
    CONFIDENCE,
    ConfidenceInterval,
    corrected_interval,
    mean,
    t_interval,
    within_range,
)
from margins.model_selection.study import Study
from margins.model_selection.tables import frame, latex, markdown
from margins.registry import name_of_path
from margins.text import aligned


class Difference(NamedTuple):
    """The differences of two studies, score of `first` minus score of `second`, on the same folds.

    Attributes
    ----------
    first, second : str
    differences : ndarray of float64, shape (n_folds,)
    mean : float
    interval, corrected_interval : ConfidenceInterval
        Of the mean.
    """

    first: str
    second: str
    differences: NDArray[np.float64]
    mean: float
    interval: ConfidenceInterval
    corrected_interval: ConfidenceInterval


class Comparison:
    """What `compare` returns.

    Attributes
    ----------
    studies : dict of Study
    metric : str
    confidence : float
    differences : list of Difference
        Of every pair, in the order of the studies. `differences` of each: ndarray of float64, shape
        (n_folds,); the intervals are those of their mean.

    See Also
    --------
    compare : Returns a comparison.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import compare, parameter_search
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]], [1, 1, 0, 0, 1, 0]
    >>> studies = {
    ...     name: parameter_search(
    ...         margins.get(name)(max_iter=5), {"tau": [0, 1]}, X, y, cv=2, random_state=0
    ...     )
    ...     for name in ("pam", "averaged-perceptron")
    ... }
    >>> compare(studies)
    <Comparison of pam, averaged-perceptron by accuracy>
    """

    def __init__(self, studies: dict[str, Study], metric: str, confidence: float) -> None:
        self.studies, self.metric, self.confidence = studies, metric, confidence
        self.differences = [self._difference(*pair) for pair in combinations(studies, 2)]

    def _difference(self, first: str, second: str) -> Difference:
        study = self.studies[first]
        differences = study.scores(self.metric) - self.studies[second].scores(self.metric)
        values = differences.tolist()
        return Difference(
            first,
            second,
            differences,
            mean(values),
            within_range(t_interval(values, self.confidence), self.metric, -1.0),
            within_range(corrected_interval(values, *study.sizes, self.confidence), self.metric, -1.0),
        )

    def to_frame(self) -> Any:
        """One row for each pair; needs pandas: pandas.DataFrame."""
        return frame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "first": each.first,
                "second": each.second,
                "difference": each.mean,
                "low": each.interval.low,
                "high": each.interval.high,
                "corrected_low": each.corrected_interval.low,
                "corrected_high": each.corrected_interval.high,
            }
            for each in self.differences
        ]

    def to_latex(self, **options: Any) -> str:
        """The rows of `to_frame` in LaTeX, escaped: str; ``**options``: pandas' `to_latex`."""
        return latex(self._rows(), options)

    def to_markdown(self, **options: Any) -> str:
        """The rows of `to_frame` in Markdown, escaped: str; ``**options``: pandas' `to_markdown`."""
        return markdown(self._rows(), options)

    def summary(self) -> str:
        """Readable tables: str."""
        level = f"{100 * self.confidence:g} %"
        rows = [["", self.metric, f"{level} T interval", "corrected"]]
        for name, study in self.studies.items():
            intervals = [
                _text(of(self.metric, self.confidence))
                for of in (study.interval, study.corrected_interval)
            ]
            rows.append([name, f"{study.mean(self.metric):.4f}", *intervals])
        pairs = [["", "difference", f"{level} T interval", "corrected"]]
        for each in self.differences:
            intervals = [_text(each.interval, "+"), _text(each.corrected_interval, "+")]
            pairs.append([f"{each.first} - {each.second}", f"{each.mean:+.4f}", *intervals])
        return "\n".join([aligned(rows, left=(0, 3)), "", aligned(pairs, left=(0, 3))])

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.studies)} by {self.metric}>"


def _text(interval: ConfidenceInterval, sign: str = "-") -> str:
    return f"[{interval.low:{sign}.4f}, {interval.high:{sign}.4f}]"


def compare(
    studies: Mapping[str, Study] | Iterable[Study],
    *,
    metric: str | None = None,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare studies of the same data and folds, by paired differences.

    Parameters
    ----------
    studies : dict of Study, or list of Study
        By name; those of a list are named by their classifiers, by the registered name or the class.
    metric : str, optional
        Default: the one that decided in the first study.
    confidence : float, in (0, 1), default=0.95

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        If something is no Study.
    ValueError
        If there are fewer than two, a metric is missing, or the data or the folds differ.

    Notes
    -----
    **Source**: Nadeau & Bengio (2003), Inference for the Generalization Error, for the corrected
    intervals of the differences.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import compare, parameter_search
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]], [1, 1, 0, 0, 1, 0]
    >>> studies = {
    ...     name: parameter_search(
    ...         margins.get(name)(max_iter=5), {"tau": [0, 1]}, X, y, cv=2, random_state=0
    ...     )
    ...     for name in ("pam", "averaged-perceptron")
    ... }
    >>> compare(studies)
    <Comparison of pam, averaged-perceptron by accuracy>
    """
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
                "studies of compare must be of the same data and the same folds. "
                f"Got others for {name!r} than for {first_name!r}."
            )
    metric = metric or first.refit
    return Comparison(named, metric, confidence)


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


def _same_folds(one: Study, other: Study) -> bool:
    return len(one.folds) == len(other.folds) and all(
        np.array_equal(mine.train, theirs.train) and np.array_equal(mine.test, theirs.test)
        for mine, theirs in zip(one.folds, other.folds, strict=True)
    )
