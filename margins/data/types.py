"""Types of arguments that public functions share, for type checkers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike


class SparseMatrix(Protocol):
    """A matrix or array of `scipy.sparse`, of any format."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocsr(self) -> Any: ...


# What X may be: anything that NumPy converts (data frames among it), or a sparse matrix.
MatrixLike: TypeAlias = ArrayLike | SparseMatrix
# What scikit-learn's check_random_state takes.
RandomState: TypeAlias = int | np.random.RandomState | None
# One metric: its name, or ``metric(estimator, X, y)``.
Metric: TypeAlias = str | Callable[[Any, Any, Any], float]


class Estimator(Protocol):
    """A classifier of scikit-learn's interface."""

    def fit(self, X: Any, y: Any, /) -> Any: ...

    def predict(self, X: Any, /) -> Any: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


class Splitter(Protocol):
    """A splitter of scikit-learn's interface."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any: ...


# What cv may be, and a grid of parameters.
Folds: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]
Grid: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]]


class LazyMatrix(Protocol):
    """An array or data frame of dask."""

    def to_delayed(self) -> Any: ...
