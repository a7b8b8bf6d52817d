"""Models that can be exported: a weight vector, or support vectors of a kernel known elsewhere."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from margins.estimators.declared import Declared
from margins.estimators.names import display_name
from margins.estimators.predictions import PredictionsMixin

# The kernels that libsvm has, and whose formulas this package writes in ONNX.
KERNELS = ("rbf", "poly", "sigmoid", "precomputed")


def selected(model: Any) -> Any:
    """Return the classifier that a selection of C fitted to all samples; other models unchanged."""
    if isinstance(model, Declared) and not isinstance(model, PredictionsMixin):
        check_is_fitted(model, "estimator_")
        return model.estimator_  # type: ignore[attr-defined]  # an attribute of MarginClassifierCV
    return model


def is_calibrated(model: Any) -> bool:
    """Return True for a selection of C that predicts by calibrated probabilities."""
    return isinstance(model, Declared) and hasattr(model, "_calibrated")


def check_exportable(classifier: Any, caller: str) -> None:
    """Raise an error unless a classifier is fitted, with scores that other libraries can compute."""
    if not isinstance(classifier, PredictionsMixin):
        raise TypeError(
            f"classifier of {caller} must be a classifier of margins. Got an object of type "
            f"{type(classifier).__name__}."
        )
    check_is_fitted(classifier)
    kernel = getattr(classifier, "kernel_", None)
    if hasattr(classifier, "votes_"):
        raise TypeError(
            f"classifier of {caller} must have a weight vector. Got {display_name(classifier)}, whose "
            "model is a list of hypotheses that vote. Fit it with averaging='averaged'."
        )
    if not hasattr(classifier, "coef_") and getattr(kernel, "name", None) not in KERNELS:
        raise TypeError(
            f"kernel of {caller} must be 'linear' or one of {', '.join(map(repr, KERNELS))}. "
            f"Got {kernel!r}."
        )
