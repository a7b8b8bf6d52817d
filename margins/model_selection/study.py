"""Results of a study, and the statistics that papers report in tables."""

from collections import Counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split

from margins.data.types import MatrixLike
from margins.estimators.names import display_name_of_path
from margins.model_selection import intervals
from margins.model_selection.checks import Data
from margins.model_selection.folds import part_of
from margins.model_selection.grids import seeded_estimator, seeded_settings
from margins.model_selection.intervals import CONFIDENCE, ConfidenceInterval
from margins.model_selection.records import decoded, encoded, from_text, record, timeless, to_text
from margins.model_selection.tables import Printed, in_words, records_of, summary

# Parameters that classifiers have gained, with the values that studies of earlier versions had.
YOUNGER = {"l1_ratio": None, "penalty": "l2"}


@record
class Fold:
    """A fold that is trained with the chosen parameters and tested once.

    Attributes
    ----------
    train, test : ndarray of int64, shape (n_train,), (n_test,)
        Rows of X.
    best_params : dict
        The chosen setting.
    scores : dict of float
        Scores on the test set, by metric.
    fit_time, score_time : float
        Seconds.

    See Also
    --------
    Table : All settings on every fold.
    Study : All folds.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import parameter_search
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]], [1, 1, 0, 0, 1, 0]
    >>> study = parameter_search(margins.get("pam")(), {"tau": [0, 1]}, X, y, cv=2, random_state=0)
    >>> len(study.folds)
    2
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    best_params: dict[str, Any]
    scores: dict[str, float]
    fit_time: float
    score_time: float


@record
class Table:
    """A search: every setting of a stage or a round, on every fold of a cross-validation.

    Attributes
    ----------
    outer : int or None
        The outer fold whose training set was searched; None: all data were searched.
    stage : int
        Stage of `Stages`, or round of `Halving`, from 0.
    settings : list of dict
        Settings in the order of the grid, including the parameters fixed by earlier stages.
    splits : list of (ndarray of int64, ndarray of int64)
        Rows of X that were trained and tested on.
    scores : dict of ndarray of float64, shape (n_settings, n_folds)
        Scores by metric.
    fit_times, score_times : ndarray of float64, shape (n_settings, n_folds)
        Seconds, divided equally among models trained in one pass.
    refit : str
        The metric that decides.

    See Also
    --------
    Fold : One fold.
    Study : All tables.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import parameter_search
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]], [1, 1, 0, 0, 1, 0]
    >>> study = parameter_search(margins.get("pam")(), {"tau": [0, 1]}, X, y, cv=2, random_state=0)
    >>> study.tables[0].settings
    [{'tau': 0}, {'tau': 1}]
    """

    outer: int | None
    stage: int
    settings: list[dict[str, Any]]
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    scores: dict[str, NDArray[np.float64]]
    fit_times: NDArray[np.float64]
    score_times: NDArray[np.float64]
    refit: str

    def mean_scores(self, metric: str | None = None) -> NDArray[np.float64]:
        """Return means over the folds, by default of the deciding metric: shape (n_settings,)."""
        return np.array([intervals.mean(row) for row in self.scores[metric or self.refit].tolist()])

    @property
    def best_index(self) -> int:
        """Index of the setting with the best mean, the first among ties; nan is the worst mean."""
        means = intervals.comparable(self.mean_scores())
        return int(np.argmax(np.where(np.isnan(means), -np.inf, means)))

    @property
    def best_params(self) -> dict[str, Any]:
        return self.settings[self.best_index]

    @property
    def best_score(self) -> float:
        return float(self.mean_scores()[self.best_index])

    def __repr__(self) -> str:
        where = "" if self.outer is None else f"outer fold {self.outer}, "
        n_settings, n_folds = self.fit_times.shape
        settings = "1 setting" if n_settings == 1 else f"{n_settings} settings"
        return f"<Table: {where}stage {self.stage}, {settings} x {n_folds} folds>"


@record
class Study(Printed):
    """The results of `parameter_search` or `double_cross_validation`, compared without the seconds.

    The rows of its tables: "folds" (`to_latex` and `to_markdown` end with the mean); "settings" of each
    table, with means over its folds; "fits" of each table.

    Attributes
    ----------
    protocol : str
        "parameter search" or "double cross-validation".
    estimator : str
        Class of the classifier.
    params : dict
        Its parameters, before any setting.
    folds : list of Fold
        The outer folds, or those of the best setting of a parameter search, whose scores are biased.
    tables : list of Table
        One search for each outer fold (if any) and stage or round.
    refit : str
        The metric that decides.
    seed : int
        Seed of the folds, and of the classifier if its `random_state` was None.
    lockstep_reason, path_reason : str or None
        The reason why `lockstep` or `path` is False; None if it is True.
    data : str
        Hash of X, y, weights and groups.
    versions : dict of str

    See Also
    --------
    parameter_search, double_cross_validation : Return a study.
    compare : Compares studies.

    Examples
    --------
    >>> import margins
    >>> from margins.model_selection import parameter_search
    >>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0], [2, 2], [0, -2]], [1, 1, 0, 0, 1, 0]
    >>> study = parameter_search(margins.get("pam")(), {"tau": [0, 1]}, X, y, cv=2, random_state=0)
    >>> study.metrics
    ['accuracy']
    """

    protocol: str
    estimator: str
    params: dict[str, Any]
    folds: list[Fold]
    tables: list[Table]
    refit: str
    seed: int
    lockstep_reason: str | None
    data: str
    versions: dict[str, str]
    path_reason: str | None = "not recorded"

    @property
    def lockstep(self) -> bool:
        """True if one pass over each training set trained the models of all settings."""
        return self.lockstep_reason is None

    @property
    def path(self) -> bool:
        """True if each search was fitted along C, as in `margins.svm_path`."""
        return self.path_reason is None

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, the deciding metric first: list of str."""
        return sorted(self.folds[0].scores, key=lambda name: name != self.refit)

    def scores(self, metric: str | None = None) -> NDArray[np.float64]:
        """Return scores of the folds, by default of the deciding metric: ndarray, shape (n_folds,)."""
        name = metric or self.refit
        if name not in self.metrics:
            raise ValueError(
                f"metric of a Study must be one of {', '.join(map(repr, self.metrics))}. Got {metric!r}."
            )
        return np.array([fold.scores[name] for fold in self.folds])

    def mean(self, metric: str | None = None) -> float:
        """Return the mean score over the folds."""
        return intervals.mean(self.scores(metric).tolist())

    def interval(self, metric: str | None = None, confidence: float = CONFIDENCE) -> ConfidenceInterval:
        """Return the T interval of the mean, as used in the papers; see `t_interval`.

        It is cut off at 0 and 1 for a metric between these, such as the accuracy.
        """
        interval = intervals.t_interval(self.scores(metric).tolist(), confidence)
        return intervals.within_range(interval, metric or self.refit)

    def corrected_interval(
        self, metric: str | None = None, confidence: float = CONFIDENCE
    ) -> ConfidenceInterval:
        """Return Nadeau and Bengio's interval of the mean; see `corrected_interval`.

        It is cut off at 0 and 1 for a metric between these, such as the accuracy.
        """
        interval = intervals.corrected_interval(self.scores(metric).tolist(), *self.sizes, confidence)
        return intervals.within_range(interval, metric or self.refit)

    @property
    def sizes(self) -> tuple[list[int], list[int]]:
        """Sizes of the training sets and of the test sets: list of int, list of int."""
        return [len(fold.train) for fold in self.folds], [len(fold.test) for fold in self.folds]

    @property
    def selection_frequencies(self) -> list[tuple[dict[str, Any], float]]:
        """Settings, and the share of the folds that chose each of them, the most frequent first."""
        chosen = {to_text(fold.best_params): fold.best_params for fold in self.folds}
        counts = Counter(to_text(fold.best_params) for fold in self.folds)  # ties stay in their order
        return [(chosen[text], count / len(self.folds)) for text, count in counts.most_common()]

    @property
    def best_params(self) -> dict[str, Any]:
        """Setting chosen most often: dict."""
        return self.selection_frequencies[0][0]

    _kinds: ClassVar[tuple[str, ...]] = "folds", "settings", "fits"

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        return records_of(self, kind)

    def _rows_in_words(self, kind: str, number: Any) -> list[dict[str, Any]]:
        rows = self._rows(kind)
        if kind == "folds":
            names = *self.metrics, "fit_time", "score_time"
            means = {name: intervals.mean([row[name] for row in rows]) for name in names}
            rows.append({"fold": "mean"} | means)
        return in_words(rows, number)

    def best_estimator(
        self,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Any:
        """Train a classifier with the setting chosen most often on all samples, and return it.

        Parameters
        ----------
        estimator, X, y, sample_weight, groups
            The arguments of the study, which does not keep them. (Groups only show that the data are
            the same.)

        Raises
        ------
        ValueError
            If the arguments of the study were different.
        """
        fitted, data = self._refits(estimator, X, y, sample_weight, groups)
        return fitted(self.best_params, np.arange(len(data.y)))

    def predictions(
        self,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> list[NDArray[Any]]:
        """Return the predictions of each fold's classifier for its test set: list of ndarray.

        The classifiers are trained again with the seed of the study, so they are the same. The arguments
        are those of the study; if they were different, a ValueError is raised.
        """
        fitted, data = self._refits(estimator, X, y, sample_weight, groups)
        predicted = []
        for fold in self.folds:
            classifier = fitted(fold.best_params, fold.train)
            X_test, _ = _safe_split(classifier, data.X, data.y, fold.test, fold.train)
            predicted.append(classifier.predict(X_test))
        return predicted

    def _refits(self, estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> Any:
        """Return a function that fits the classifier with a setting to some rows, and the data."""
        data, kind = Data(X, y, sample_weight, groups, "Study"), type(estimator)
        name = f"{kind.__module__}.{kind.__qualname__}"
        params = decoded(encoded(estimator.get_params(deep=False)))
        younger = {name: value for name, value in YOUNGER.items() if name in params}
        if name != self.estimator or params != younger | self.params:
            raise ValueError(
                f"estimator of Study must be the estimator of the study, "
                f"{self.estimator}{self.params}. Got {name}{params}."
            )
        if data.digest != self.data:
            raise ValueError(
                "X, y, sample_weight and groups of Study must be the data of the study. Got different "
                "data, or a study of version 0.2, which recorded its data in another way."
            )
        seeded = seeded_estimator(estimator, self.seed)

        def fitted(setting: dict[str, Any], rows: NDArray[np.int64]) -> Any:
            [values] = seeded_settings([setting], self.seed)
            classifier = clone(seeded).set_params(**clone(values, safe=False))
            X, y = _safe_split(classifier, data.X, data.y, rows)
            weight = part_of(data.sample_weight, rows)
            return classifier.fit(X, y, **({} if weight is None else {"sample_weight": weight}))

        return fitted, data

    def to_json(self) -> str:
        """Return the study as JSON, with plain parameters as they are and names of other objects."""
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the study that `to_json` wrote, with its seconds; raise ValueError for other text."""
        try:
            study = from_text(text)
            if isinstance(study, cls):
                return study
            raise TypeError(type(study))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = "text of Study.from_json must come from Study.to_json. Got something else."
            raise ValueError(message) from error

    def summary(self) -> str:
        """Return a readable table."""
        return summary(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return bool(timeless(encoded(self)) == timeless(encoded(other)))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        low, high = self.interval()
        name = display_name_of_path(self.estimator)
        return (
            f"<Study: {self.protocol} of {name}, {len(self.folds)} folds, "
            f"{self.refit} {self.mean():z.4f}, 95 % T interval [{low:z.4f}, {high:z.4f}]>"
        )
