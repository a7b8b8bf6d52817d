"""What can leave the library: a weight vector, or support vectors of a kernel that others have."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from margins.estimators.declared import Declared
from margins.estimators.names import display_name
from margins.estimators.predictions import PredictionsMixin

# Of `margins.kernels`, those that libsvm has, and whose formula this package writes in ONNX.
KERNELS = ("rbf", "poly", "sigmoid", "precomputed")


def selected(model: Any) -> Any:
    """The classifier that a selection of C has fitted to all samples; anything else as it is."""
    if isinstance(model, Declared) and not isinstance(model, PredictionsMixin):
        check_is_fitted(model, "estimator_")
        return model.estimator_  # type: ignore[attr-defined]  # of MarginClassifierCV
    return model


def check_exportable(classifier: Any, caller: str) -> None:
    """Raise an error unless a classifier is fitted, and has scores that others can compute.

    Parameters
    ----------
    classifier : object
    caller : str
        The public function, for messages.
    """
    if not isinstance(classifier, PredictionsMixin):
        raise TypeError(
            f"classifier of {caller} must be a classifier of margins. Got an object of type "
            f"{type(classifier).__name__}."
        )
    check_is_fitted(classifier)
    kernel = getattr(classifier, "kernel_", None)
    if hasattr(classifier, "votes_"):
        raise TypeError(
            f"classifier of {caller} must have a weight vector. Got {display_name(classifier)} with "
            "averaging='voted', whose model is a list of hypotheses. Allowed: averaging='averaged'."
        )
    if not hasattr(classifier, "coef_") and getattr(kernel, "name", None) not in KERNELS:
        raise TypeError(
            f"kernel of {caller} must be 'linear' or one of {', '.join(map(repr, KERNELS))}. "
            f"Got {kernel!r}."
        )
