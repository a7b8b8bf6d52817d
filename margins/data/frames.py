"""Data frames of pandas, polars and pyarrow, in which columns hold vectors."""

import contextlib
import re

import numpy as np

from margins.optional import require
from margins.readers.values import Column, WrongValue, are_vectors, names_of_elements

# Types of polars and pyarrow whose values are vectors.
VECTORS = re.compile(r"(large_|fixed_size_)?list\b|array\(|extension<arrow\.fixed_shape_tensor")


def flattened(X, name):
    """Return a data frame with columns of vectors as columns of numbers; anything else unchanged.

    A column ``name`` of vectors becomes ``name[0]``, ``name[1]``, ... in a pandas.DataFrame.
    """
    if hasattr(X, "iloc"):
        kinds = [getattr(dtype, "kind", "O") for dtype in X.dtypes] if X.ndim == 2 and X.shape[0] else []
        columns = [k for k, kind in enumerate(kinds) if kind == "O" and np.ndim(X.iloc[0, k]) == 1]
    else:
        types = getattr(getattr(X, "schema", None), "types", getattr(X, "dtypes", ()))
        columns = [k for k, type_ in enumerate(types) if VECTORS.match(str(type_).lower())]
    if not columns:
        return X
    X, frames = _of_pandas(X, name), []
    for k, column in enumerate(X.columns):
        part = X.iloc[:, k]
        if k in columns:
            with _column_of(part, name) as array:
                vectors = array.vectors()
            names = names_of_elements(column, vectors.shape[1])
            part = type(X)(vectors, X.index, names, copy=False)
        frames.append(part)
    return require(name, "pandas").concat(frames, axis=1)


def _of_pandas(X, name):
    """Return a data frame as a pandas.DataFrame, whose vectors stay in Arrow's memory."""
    pandas = require(f"{name}: its columns", "pandas", "pyarrow")
    if hasattr(X, "iloc"):
        return X
    from pyarrow import table

    return table(X).to_pandas(
        types_mapper=lambda type_: pandas.ArrowDtype(type_) if are_vectors(type_) else None,
        ignore_metadata=True,
    )


@contextlib.contextmanager
def _column_of(series, name):
    """Return a context with the Column of a pandas.Series, whose errors name it and the row."""
    import pyarrow

    try:
        array = pyarrow.array(series, from_pandas=True)
        chunks = array.chunks if isinstance(array, pyarrow.ChunkedArray) else [array]
        yield Column(series.name, pyarrow.chunked_array(chunks, array.type))
    except WrongValue as error:
        raise ValueError(f"{name}: row {error.row}: {error}") from None
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise ValueError(f"{name}: column {series.name!r}: {error}") from error
