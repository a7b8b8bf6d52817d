"""Types of arguments of public functions, for type checkers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike


class SparseMatrix(Protocol):
    """Matrix or array of `scipy.sparse`, in any format."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocsr(self) -> Any: ...


# Types of X: anything that NumPy converts, such as data frames, or a sparse matrix.
MatrixLike: TypeAlias = ArrayLike | SparseMatrix
# Types that scikit-learn's check_random_state accepts.
RandomState: TypeAlias = int | np.random.RandomState | None
# A metric: its name, or a function ``metric(estimator, X, y)``.
Metric: TypeAlias = str | Callable[[Any, Any, Any], float]


class Estimator(Protocol):
    """Classifier with scikit-learn's interface."""

    def fit(self, X: Any, y: Any, /) -> Any: ...

    def predict(self, X: Any, /) -> Any: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


class Splitter(Protocol):
    """Splitter with scikit-learn's interface."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any: ...


# Types of cv, and of a parameter grid.
Folds: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]
Grid: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]]


class LazyMatrix(Protocol):
    """Array or data frame of dask."""

    def to_delayed(self) -> Any: ...
