"""The end of a fit by what its model does with validation data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length

from margins.data.types import MatrixLike
from margins.data.validation import checked_labels, codes_of
from margins.parameters import Interval, check


class EarlyStopping:
    """Ends the fit of a binary problem when its score on validation data has ceased to rise.

    After each full epoch the model is scored as it would be if the fit ended there. With several
    classes each binary problem, one class against the rest or a pair of classes, ends for itself. The
    model is that of the last epoch; `converged_` is False, and the certificate is true.

    Each score costs a pass over the training samples, and a prediction of the validation samples.

    Parameters
    ----------
    X, y : samples
        The validation data, with labels of the training data.
    patience : int
        Epochs without a better score after which the fit ends.
    min_delta : float
        The least increase that counts.
    scoring : str or callable
        As scikit-learn's, of a binary classifier of False and True.

    Attributes
    ----------
    scores_ : dict of list of float
        After a fit: for the label of each binary problem, with two classes the second one, of a pair of
        several classes both, the scores after each epoch.

    See Also
    --------
    ProgressBar : Shows how far a fit is.

    Examples
    --------
    >>> import warnings
    >>> import margins
    >>> from margins.callbacks import EarlyStopping
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(n_samples=300, flip_y=0.2, random_state=0)
    >>> classifier = margins.get("pam")(max_iter=1000, random_state=0)
    >>> if hasattr(classifier, "set_callbacks"):  # of scikit-learn 1.9
    ...     _ = classifier.set_callbacks(EarlyStopping(X[200:], y[200:], patience=3))
    ...     with warnings.catch_warnings():
    ...         warnings.simplefilter("ignore")
    ...         assert classifier.fit(X[:200], y[:200]).n_iter_ < 1000
    """

    def __init__(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        patience: int = 5,
        min_delta: float = 0.0,
        scoring: str | Callable[..., float] = "accuracy",
    ) -> None:
        check("patience", "EarlyStopping", patience, Interval(1, math.inf, "left", integer=True))
        check("min_delta", "EarlyStopping", min_delta, Interval(0, math.inf, "left"))
        labels = np.asarray(checked_labels(y, "y of EarlyStopping"))
        check_consistent_length(X, labels)
        self.X, self.y, self.patience, self.min_delta = X, labels, patience, min_delta
        self.scoring = scoring
        self.scores_: dict[Any, list[float]] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        """Forget the scores of the fit before."""
        self.scores_ = {}

    def teardown(self, estimator: Any, context: Any) -> None:
        """The scores stay."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Check the labels before training: they must be classes of the training data."""
        classes = getattr(context, "classes_of_fit", None)
        if classes is not None:
            codes_of(self.y, classes, "EarlyStopping", "fit")

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Score the model of an epoch: True if the fit is to end."""
        task = getattr(context, "epoch_task", None)
        if task is None:
            return False
        model = task.model()
        scorer = check_scoring(model, scoring=self.scoring)
        scores = self.scores_.setdefault(task.label, [])
        scores.append(float(scorer(model, *task.samples(self.X, self.y))))
        best, last_rise = -math.inf, 0
        for number, score in enumerate(scores):
            if score > best + (self.min_delta if number else 0):
                best, last_rise = score, number
        return len(scores) - 1 - last_rise >= self.patience
