"""Ranks of several algorithms on several data sets, and tests of their differences.

Scores on different data sets cannot be compared, so algorithms are ranked on each data set: 1 for the
best, mean ranks for ties.

**Source**: Demsar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7,
section 3.2; Holm (1979), A simple sequentially rejective multiple test procedure.
"""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from margins.model_selection.compare import compare
from margins.model_selection.study import Study
from margins.model_selection.tables import Bold, Printed, in_words
from margins.parameters import Interval, check
from margins.text import aligned


class PairTest(NamedTuple):
    """Wilcoxon's signed-rank test of two algorithms over data sets.

    Attributes
    ----------
    first, second : str
    statistic, p_value : float
        Two-sided; nan if no score differs.
    corrected_p_value : float
        Corrected by Holm's procedure for all pairs.

    See Also
    --------
    Ranking : All pairs.

    Examples
    --------
    >>> PairTest("pam", "mpu", 3.0, 0.04, 0.12).p_value
    0.04
    """

    first: str
    second: str
    statistic: float
    p_value: float
    corrected_p_value: float


class Ranking(Printed):
    """Scores of k algorithms on N data sets, their ranks, and tests.

    The rows of its tables: "data sets" and the mean ranks, with the best scores in bold, and the mean
    ranks that differ from the best one by at most the critical difference; "algorithms" on each data
    set, as of a `Comparison`, if it is of studies; "pairs", with the tests.

    Parameters
    ----------
    scores : array-like of float, shape (N, k)
        Higher is better.
    algorithms : list of str
    data_sets : list of str
    metric : str

    Attributes
    ----------
    ranks : ndarray of float64, shape (N, k)
        1 for the best algorithm on each data set.
    mean_ranks : ndarray of float64, shape (k,)

    See Also
    --------
    rank : Returns the ranking of studies.

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.7], [0.95, 0.9, 0.85], [0.7, 0.72, 0.6]]
    >>> ranking = Ranking(scores, ["mpu", "pam", "perceptron"], ["a", "b", "c", "d"], "accuracy")
    >>> ranking.mean_ranks.tolist()
    [1.25, 1.875, 2.875]
    >>> round(ranking.critical_difference(), 3)
    1.657
    """

    def __init__(
        self, scores: Any, algorithms: list[str], data_sets: list[str], metric: str = "score"
    ) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)
        self.algorithms, self.data_sets, self.metric = list(algorithms), list(data_sets), metric
        shape = len(self.data_sets), len(self.algorithms)
        if self.scores.shape != shape or min(shape) < 2:
            raise ValueError(
                "scores of Ranking must have at least 2 data sets and 2 algorithms, and the shape "
                f"(data sets, algorithms), here {shape}. Got shape {self.scores.shape}."
            )
        if np.isnan(self.scores).any():
            raise ValueError("scores of Ranking must not be nan. Got nan.")
        self._studies: Mapping[str, Mapping[str, Study]] | None = None
        self.ranks: NDArray[np.float64] = stats.rankdata(-self.scores, axis=1)
        self.mean_ranks: NDArray[np.float64] = self.ranks.mean(axis=0)

    def friedman(self) -> tuple[float, float]:
        """Return the statistic and the p-value of Friedman's test of equal mean ranks.

        It needs three algorithms, or raises a ValueError; use `wilcoxon` for two.
        """
        if (k := len(self.algorithms)) < 3:
            text = f"friedman of Ranking must have at least 3 algorithms. Got {k}. Use wilcoxon for two."
            raise ValueError(text)
        result = stats.friedmanchisquare(*self.scores.T)
        return float(result.statistic), float(result.pvalue)

    def critical_difference(self, confidence: float = 0.95) -> float:
        """Return Nemenyi's critical difference: larger differences of mean ranks are significant.

        It is q sqrt(k (k + 1) / (6 N)), q the quantile of the studentized range divided by sqrt(2).
        """
        check("confidence", "Ranking", confidence, Interval(0, 1, "neither"))
        n, k = self.scores.shape
        q = float(stats.studentized_range.ppf(confidence, k, math.inf)) / math.sqrt(2)
        return q * math.sqrt(k * (k + 1) / (6 * n))

    def wilcoxon(self) -> list[PairTest]:
        """Test every pair with Wilcoxon's signed-rank test, with Holm's correction for their number."""
        pairs = list(combinations(range(len(self.algorithms)), 2))
        results = [_signed_rank_test(self.scores[:, i] - self.scores[:, j]) for i, j in pairs]
        corrected = _holm([p_value for _, p_value in results])
        return [
            PairTest(self.algorithms[i], self.algorithms[j], *result, corrected_p_value)
            for (i, j), result, corrected_p_value in zip(pairs, results, corrected, strict=True)
        ]

    _kinds: ClassVar[tuple[str, ...]] = "data sets", "algorithms", "pairs"

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        if kind == "pairs":
            return [test._asdict() for test in self.wilcoxon()]
        if kind == "algorithms":
            return self._rows_of_studies(lambda comparison: comparison._rows(kind))
        names = [*self.data_sets, "mean rank"]
        values = [*self.scores.tolist(), self.mean_ranks.tolist()]
        columns = ["data set", *self.algorithms]
        return [
            dict(zip(columns, [name, *row], strict=True))
            for name, row in zip(names, values, strict=True)
        ]

    def _rows_of_studies(self, rows_of: Any) -> list[dict[str, Any]]:
        if self._studies is None:
            raise ValueError("rows of a Ranking of scores cannot be 'algorithms'. Use rank(studies).")
        comparisons = {
            name: compare(studies, metric=self.metric) for name, studies in self._studies.items()
        }
        return [{"data set": name} | row for name, each in comparisons.items() for row in rows_of(each)]

    def _rows_in_words(self, kind: str, number: Any) -> list[dict[str, Any]]:
        if kind == "pairs":
            return in_words(self._rows(kind), number)
        if kind == "algorithms":
            return self._rows_of_studies(lambda comparison: comparison._rows_in_words(kind, number))
        number = number or "{:z.4f}".format
        is_best = [*(self.ranks == self.ranks.min(axis=1, keepdims=True))]
        is_best.append(self.mean_ranks <= self.mean_ranks.min() + self.critical_difference())
        rows = []
        for (name, *values), bold in zip(map(dict.values, self._rows(kind)), is_best, strict=True):
            texts = [
                Bold(number(v)) if best else number(v) for v, best in zip(values, bold, strict=True)
            ]
            rows.append(dict(zip(("data set", *self.algorithms), (name, *texts), strict=True)))
        return rows

    def summary(self) -> str:
        """Return readable tables of the scores and mean ranks, and of the tests of all pairs."""
        rows = [
            [name, *(f"{v:z.4f}" for v in values)]
            for name, *values in map(dict.values, self._rows("data sets"))
        ]
        lines = [aligned([[self.metric, *self.algorithms], *rows]), ""]
        if len(self.algorithms) > 2:
            lines.append("Friedman's test: statistic {:.4g}, p {:.3g}".format(*self.friedman()))
        lines += [
            f"critical difference of mean ranks: {self.critical_difference():.4f} (Nemenyi, 95 %)",
            "",
        ]
        pairs = [
            [f"{test.first} - {test.second}", *(f"{v:.4g}" for v in test[2:])]
            for test in self.wilcoxon()
        ]
        return "\n".join([*lines, aligned([["", "Wilcoxon", "p", "corrected"], *pairs])])

    def __repr__(self) -> str:
        order = np.argsort(self.mean_ranks, kind="stable")
        ranks = ", ".join(f"{self.algorithms[i]} {self.mean_ranks[i]:.3g}" for i in order)
        return f"<Ranking by {self.metric} on {len(self.data_sets)} data sets, mean ranks: {ranks}>"


def rank(studies: Mapping[str, Mapping[str, Study]], *, metric: str | None = None) -> Ranking:
    """Rank algorithms over data sets by their mean scores in studies.

    Parameters
    ----------
    studies : dict of dict of Study
        ``studies[data set][algorithm]``: the same algorithms on every data set.
    metric : str, optional
        Default: the metric that decided in the first study. Higher is better.

    Raises
    ------
    TypeError
        If a value is not a Study.
    ValueError
        If there are fewer than two data sets or algorithms, or if the algorithms differ.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import parameter_search, rank
    >>> from sklearn.datasets import make_classification
    >>> studies = {}
    >>> for seed in range(4):
    ...     X, y = make_classification(n_samples=60, random_state=seed)
    ...     studies[f"data {seed}"] = {
    ...         name: parameter_search(margins.get(name)(max_iter=5), {}, X, y, cv=3, random_state=0)
    ...         for name in ("pam", "averaged-perceptron", "pa-i")
    ...     }
    >>> ranking = rank(studies)
    >>> float(ranking.mean_ranks.sum())
    6.0
    """
    data_sets = list(studies)
    algorithms = list(studies[data_sets[0]]) if data_sets else []
    for name in data_sets:
        for algorithm, study in studies[name].items():
            if not isinstance(study, Study):
                raise TypeError(
                    f"studies of rank must hold Study objects. Got {study!r} for {algorithm!r} "
                    f"on {name!r}."
                )
        if sorted(studies[name]) != sorted(algorithms):
            raise ValueError(
                f"studies of rank must have the same algorithms on every data set, {algorithms}. "
                f"Got {list(studies[name])} on {name!r}."
            )
    if len(data_sets) < 2 or len(algorithms) < 2:
        raise ValueError(
            "studies of rank must have at least 2 data sets and 2 algorithms. "
            f"Got {len(data_sets)} and {len(algorithms)}."
        )
    metric = metric or studies[data_sets[0]][algorithms[0]].refit
    scores = [[studies[name][algorithm].mean(metric) for algorithm in algorithms] for name in data_sets]
    ranking = Ranking(scores, algorithms, data_sets, metric)
    ranking._studies = studies
    return ranking


def _signed_rank_test(differences: NDArray[np.float64]) -> tuple[float, float]:
    if not differences.any():
        return math.nan, math.nan
    result = stats.wilcoxon(differences)
    return float(result.statistic), float(result.pvalue)


def _holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number: the smallest times n, the next times n - 1, etc."""
    order = np.argsort(p_values, kind="stable")  # nan last
    factors = np.count_nonzero(~np.isnan(p_values)) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.minimum(factors * np.array(p_values)[order], 1.0))
    return corrected.tolist()
