import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length

from margins.data.types import MatrixLike
from margins.data.validation import checked_labels, codes_of
from margins.parameters import COUNT, NON_NEGATIVE, check


class EarlyStopping:
    """Ends the fit of a binary problem when its score on validation data stops rising.

    After each full epoch, the model is scored as if the fit ended there. With several classes, each
    binary problem, one class against the rest or a pair of classes, ends separately. The fit keeps the
    last epoch's model; `converged_` is False, and the certificate is valid.

    Each score costs a pass over the training samples and a prediction of the validation samples.

    Parameters
    ----------
    X, y : samples
        Validation data, with classes of the training data.
    patience : int
        Number of epochs without a better score after which the fit ends.
    min_delta : float
        Smallest increase that counts.
    scoring : str or callable
        Metric as in scikit-learn, for a binary classifier with the classes False and True.

    Attributes
    ----------
    scores_ : dict of list of float
        Scores after each epoch of the last fit, for each binary problem. The keys are labels: with two
        classes the second class; with more, the class or the pair of classes.

    See Also
    --------
    ProgressBar : Shows the progress of a fit.

    Examples
    --------
    >>> import warnings
    >>> import margins
    >>> from margins.callbacks import EarlyStopping
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(n_samples=300, flip_y=0.2, random_state=0)
    >>> classifier = margins.get("pam")(max_iter=1000, random_state=0)
    >>> if hasattr(classifier, "set_callbacks"):  # since scikit-learn 1.9
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
        check("patience", "EarlyStopping", patience, COUNT)
        check("min_delta", "EarlyStopping", min_delta, NON_NEGATIVE)
        labels = np.asarray(checked_labels(y, "y of EarlyStopping"))
        check_consistent_length(X, labels)
        self.X, self.y, self.patience, self.min_delta = X, labels, patience, min_delta
        self.scoring = scoring
        self.scores_: dict[Any, list[float]] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        """Forget the scores of the previous fit."""
        self.scores_ = {}

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing, so that the scores stay."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Check, before training, that the labels are classes of the training data."""
        classes = getattr(context, "classes_of_fit", None)
        if classes is not None:
            codes_of(self.y, classes, "EarlyStopping", "fit")

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Score the model of an epoch, and return True if the fit should end."""
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
