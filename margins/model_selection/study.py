"""The results of a study, and the statistics that tables of papers report."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.data.types import MatrixLike
from margins.estimators.names import display_name_of_path
from margins.model_selection.intervals import (
    CONFIDENCE,
    ConfidenceInterval,
    corrected_interval,
    mean,
    t_interval,
    within_range,
)
from margins.model_selection.records import encoded, from_text, record, timeless, to_text
from margins.model_selection.refits import Refits
from margins.model_selection.tables import frame, latex, markdown, rows_of, summary


@record
class Fold:
    """A fold: trained with the chosen parameters, tested once.

    Attributes
    ----------
    train, test : ndarray of int64, shape (n_train,), (n_test,)
        Rows of X.
    best_params : dict
        The chosen setting.
    scores : dict of float
        On the test set, by metric.
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
    >>> study = parameter_search(
    ...     margins.get("pam")(max_iter=5), {"tau": [0, 1]}, X, y, cv=2, random_state=0
    ... )
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
    """A search: every setting of a stage, or of a round, on every fold of a cross-validation.

    Attributes
    ----------
    outer : int or None
        The outer fold whose training set was searched; None: all the data were.
    stage : int
        Of `Stages`, or the round of `Halving`; from 0.
    settings : list of dict
        In the order of the grid, with what earlier stages have fixed.
    splits : list of (ndarray of int64, ndarray of int64)
        Rows of X that were trained and tested on.
    scores : dict of ndarray of float64, shape (n_settings, n_folds)
        By metric.
    fit_times, score_times : ndarray of float64, shape (n_settings, n_folds)
        Seconds. Of models trained in one pass, each has an equal share.
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
    >>> study = parameter_search(
    ...     margins.get("pam")(max_iter=5), {"tau": [0, 1]}, X, y, cv=2, random_state=0
    ... )
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
        """Means over the folds, by default of the deciding metric: ndarray, shape (n_settings,)."""
        return np.array([mean(row) for row in self.scores[metric or self.refit].tolist()])

    @property
    def best_index(self) -> int:
        """The setting of the best mean; of equals, the first. A mean that is nan is the worst."""
        means = self.mean_scores()
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
class Study:
    """The results of `parameter_search` or `double_cross_validation`.

    Two studies are equal if all is equal but the seconds.

    Attributes
    ----------
    protocol : str
        "parameter search" or "double cross-validation".
    estimator : str
        The class of the classifier.
    params : dict
        Its parameters, before any setting.
    folds : list of Fold
        Of a parameter search: those of the best setting, selected after the fact, so their scores
        are biased upwards. Of a double cross-validation: the outer folds.
    tables : list of Table
        The searches: one for each outer fold (if any) and stage or round.
    refit : str
        The metric that decides.
    seed : int
        Of the folds, and of the classifier if its `random_state` was None.
    lockstep_reason, path_reason : str or None
        Why `lockstep` or `path` is False; None: it is True.
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
    >>> study = parameter_search(
    ...     margins.get("pam")(max_iter=5), {"tau": [0, 1]}, X, y, cv=2, random_state=0
    ... )
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
        """True if the fits of each search were made along C, as `margins.svm_path` makes them."""
        return self.path_reason is None

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, the deciding one first: list of str."""
        return sorted(self.folds[0].scores, key=lambda name: name != self.refit)

    def scores(self, metric: str | None = None) -> NDArray[np.float64]:
        """Scores of the folds, of the deciding metric if none is named: ndarray, shape (n_folds,)."""
        name = metric or self.refit
        if name not in self.metrics:
            raise ValueError(
                f"metric of a Study must be one of {', '.join(map(repr, self.metrics))}. Got {metric!r}."
            )
        return np.array([fold.scores[name] for fold in self.folds])

    def mean(self, metric: str | None = None) -> float:
        """The mean score over the folds: float."""
        return mean(self.scores(metric).tolist())

    def interval(self, metric: str | None = None, confidence: float = CONFIDENCE) -> ConfidenceInterval:
        """The T interval of the mean, the papers': ConfidenceInterval; see `t_interval`.

        Of a metric between 0 and 1, such as the accuracy, the part within these. Training sets of a
        cross-validation overlap, so that it is too narrow: see `corrected_interval`.
        """
        interval = t_interval(self.scores(metric).tolist(), confidence)
        return within_range(interval, metric or self.refit)

    def corrected_interval(
        self, metric: str | None = None, confidence: float = CONFIDENCE
    ) -> ConfidenceInterval:
        """Nadeau and Bengio's interval of the mean: ConfidenceInterval; see `corrected_interval`.

        Of a metric between 0 and 1, such as the accuracy, the part within these.
        """
        interval = corrected_interval(self.scores(metric).tolist(), *self.sizes, confidence)
        return within_range(interval, metric or self.refit)

    @property
    def sizes(self) -> tuple[list[int], list[int]]:
        """Sizes of the training and of the test sets: list of int, list of int."""
        return [len(fold.train) for fold in self.folds], [len(fold.test) for fold in self.folds]

    @property
    def selection_frequencies(self) -> list[tuple[dict[str, Any], float]]:
        """Settings and the share of the folds that chose each, the most frequent first.

        Returns
        -------
        list of (dict, float)
        """
        counts: list[tuple[dict[str, Any], list[int]]] = []
        for fold in self.folds:
            for count in counts:
                if encoded(count[0]) == encoded(fold.best_params):
                    count[1][0] += 1
                    break
            else:
                counts.append((fold.best_params, [1]))
        counts.sort(key=lambda count: -count[1][0])  # of equals, what an earlier fold chose
        return [(setting, count / len(self.folds)) for setting, (count,) in counts]

    @property
    def best_params(self) -> dict[str, Any]:
        """The setting chosen most often: dict."""
        return self.selection_frequencies[0][0]

    def to_frame(self, rows: Literal["folds", "settings", "fits"] = "folds") -> Any:
        """A data frame; needs pandas.

        Parameters
        ----------
        rows : str
            "folds": one row for each fold. "settings": one for each setting of each table, with means
            over its folds. "fits": one for each fit of each table.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ValueError
            If `rows` is none of these.
        ImportError
            If pandas is not installed.
        """
        return frame(rows_of(self, rows))

    def to_latex(self, rows: Literal["folds", "settings", "fits"] = "folds", **options: Any) -> str:
        """The rows of `to_frame` in LaTeX, escaped: str; ``**options``: pandas' `to_latex`."""
        return latex(rows_of(self, rows), options)

    def to_markdown(self, rows: Literal["folds", "settings", "fits"] = "folds", **options: Any) -> str:
        """The rows of `to_frame` in Markdown, escaped: str; ``**options``: pandas' `to_markdown`."""
        return markdown(rows_of(self, rows), options)

    def best_estimator(
        self,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Any:
        """The classifier with the setting chosen most often, trained on all samples.

        Parameters
        ----------
        estimator, X, y, sample_weight, groups
            Those of the study, which is a record and keeps none of them. (Groups only show that the
            data are the same.)

        Returns
        -------
        classifier
            Fitted.

        Raises
        ------
        ValueError
            If they are not those of the study.
        """
        return Refits(self, estimator, X, y, sample_weight, groups).best()

    def predictions(
        self,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> list[NDArray[Any]]:
        """What the classifier of each fold predicts for its test set.

        The classifiers are trained again, with the seed of the study, so that they are the same.

        Parameters
        ----------
        estimator, X, y, sample_weight, groups
            Those of the study.

        Returns
        -------
        list of ndarray, shape (n_test,)
            In the order of ``fold.test``.

        Raises
        ------
        ValueError
            If they are not those of the study.
        """
        return Refits(self, estimator, X, y, sample_weight, groups).predictions()

    def to_json(self) -> str:
        """The study as text: str. JSON keeps plain parameters, and of others the name."""
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The study that `to_json` wrote, equal to it, with the same seconds.

        Raises
        ------
        ValueError
            If the text is no study.
        """
        message = "text of Study.from_json must come from Study.to_json. Got something else."
        try:
            study = from_text(text)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(message) from error
        if not isinstance(study, cls):
            raise ValueError(message)
        return study

    def summary(self) -> str:
        """A readable table: str."""
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
            f"{self.refit} {self.mean():.4f}, 95 % T interval [{low:.4f}, {high:.4f}]>"
        )
