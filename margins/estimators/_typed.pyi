from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margins.certificate import Certificate
from margins.data.types import MatrixLike
from margins.solvers.base import PhaseRecord
from margins.solvers.driver import Epoch

__all__ = ["BaseEstimator", "ClassifierMixin", "available_if"]

_Method = TypeVar("_Method", bound=Callable[..., Any])

class BaseEstimator:
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
    def get_metadata_routing(self) -> Any: ...
    def __sklearn_tags__(self) -> Any: ...

class ClassifierMixin:
    # Fitted attributes, which ATTRIBUTES in margins.estimators.declared describes.
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    classes_: NDArray[Any]
    certificates_: list[Certificate]
    upper_bounds_: list[float]
    dual_coef_: NDArray[np.float64]
    support_: NDArray[np.int64]
    support_vectors_: Any
    solver_: str
    phases_: list[list[PhaseRecord]]
    learning_curve_: list[list[Epoch]]
    converged_: bool
    n_iter_: int
    n_updates_: int
    n_accesses_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def set_fit_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...
    def set_score_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...

# With scikit-learn 1.9 or later; see margins.estimators.callbacks.
class CallbackSupportMixin:
    def set_callbacks(self, *callbacks: Any) -> Self: ...

def with_callbacks(method: _Method) -> _Method: ...
def available_if(check: Callable[[Any], Any]) -> Callable[[_Method], _Method]: ...
