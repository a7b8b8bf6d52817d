"""Data frames of pandas, polars and pyarrow, in which columns hold vectors, or categories of a model."""

import contextlib
import re
from collections.abc import Mapping

import numpy as np

from margins.optional import require
from margins.readers.tables import categories_of, codes_of
from margins.readers.values import Column, WrongValue, are_vectors, names_of_elements

# Types of polars and pyarrow whose values are vectors.
VECTORS = re.compile(r"(large_|fixed_size_)?list\b|array\(|extension<arrow\.fixed_shape_tensor")


def flattened(X, name):
    """Return a data frame with columns of vectors as columns of numbers; anything else unchanged.

    A column ``name`` of vectors becomes ``name[0]``, ``name[1]``, ... in a pandas.DataFrame.
    """
    if hasattr(X, "iloc"):
        kinds = [getattr(dtype, "kind", "O") for dtype in X.dtypes] if X.ndim == 2 and X.shape[0] else []
        columns = [k for k, kind in enumerate(kinds) if kind == "O" and _has_vectors(X.iloc[:100, k])]
    else:
        types = getattr(getattr(X, "schema", None), "types", getattr(X, "dtypes", ()))
        columns = [k for k, type_ in enumerate(types) if VECTORS.match(str(type_).lower())]
    if not columns:
        return X

    def elements(column, array):
        vectors = array.vectors()
        return vectors, names_of_elements(column, vectors.shape[1])

    return _with_columns(X, name, columns, elements)


def _has_vectors(values):
    return any(isinstance(value, list | tuple) or np.ndim(value) > 0 for value in values)


def of_model(X, names, name):
    """Return a data frame, or a dict for one row, with the features of a model, `names` or None.

    A feature ``column=value``, as `Chunks.from_parquet` names it, is 1 in the rows with this value of
    ``column``, otherwise 0.
    """
    if isinstance(X, Mapping):
        if names is None:
            raise ValueError(
                f"{name} must be an array, shape (n_samples, n_features): only models of named columns "
                "predict a dict. Got a dict."
            )
        X = of_model(require(f"{name}: a dict", "pandas").DataFrame([X]), names, name)
        return X[[*names]] if set(X.columns) == set(names) else X
    X = flattened(X, name)
    columns = X.column_names if hasattr(X, "column_names") else list(X.columns)
    categories = categories_of(names, columns)
    if not categories:
        return X

    def indicators(column, array):
        values = categories[column]
        codes = codes_of(array, values)
        names = [f"{column}={value}" for value in values]
        return codes[:, np.newaxis] == np.arange(len(values)), names

    chosen = [k for k, column in enumerate(columns) if column in categories]
    return _with_columns(X, name, chosen, indicators)


def _with_columns(X, name, chosen, columns_of):
    """Return a data frame as a pandas.DataFrame in which each chosen column is several.

    columns_of: of the name and the Column, a matrix and the names of its columns.
    """
    X, frames = _of_pandas(X, name), []
    for k, column in enumerate(X.columns):
        part = X.iloc[:, k]
        if k in chosen:
            with _column_of(part, name) as array:
                values, names = columns_of(column, array)
            part = type(X)(values, X.index, names, copy=False)
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
        for row, value in enumerate(series if series.dtype == object else ()):
            if np.ma.isMaskedArray(value):  # pyarrow would read what the mask hides
                raise WrongValue(series.name, row, value, f"{series.name!r} must not be masked")
        array = pyarrow.array(series, from_pandas=True)
        chunks = array.chunks if isinstance(array, pyarrow.ChunkedArray) else [array]
        yield Column(series.name, pyarrow.chunked_array(chunks, array.type))
    except WrongValue as error:
        raise ValueError(f"{name}: row {error.row}: {error}") from None
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as error:
        raise ValueError(f"{name}: column {series.name!r}: {error}") from error
