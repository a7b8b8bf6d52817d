"""The columns of tables in chunks: which are read, as what, and their samples."""

from typing import Any, NamedTuple

import numpy as np


class TableColumns(NamedTuple):
    """Which columns of tables are read, and as what."""

    target: str
    names: tuple[str, ...]  # of the features, in order
    categories: dict[str, list[Any]]  # the values of columns of categories, each a column of 0 and 1
    weight: str | None  # the column of sample weights

    @property
    def read(self):
        """The columns of the file that are needed: list of str."""
        return [*self.names, self.target, *([] if self.weight is None else [self.weight])]

    @property
    def features(self):
        """The names of the columns of X: list of str."""
        return [
            column
            for name in self.names
            for column in (
                [f"{name}={value}" for value in self.categories[name]]
                if name in self.categories
                else [name]
            )
        ]


def columns_of(found_in, target, columns, categories, weight):
    """The columns of tables, in the order of the first one: TableColumns.

    Parameters
    ----------
    found_in : list of (str, list of str)
        The path and the columns of each table.
    target, columns, categories, weight
        As `Chunks.from_parquet` takes them.

    Raises
    ------
    ValueError
        If one that is named is not there, or columns have no names of their own, or differ in tables.
    """
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names. Got the str {columns!r}.")
    path, first = found_in[0]
    names = (
        [name for name in first if name not in (target, weight)] if columns is None else list(columns)
    )
    given = dict(categories or {})
    categories = {name: list(values) for name, values in given.items()}
    needed = [target, *names, *categories, *([] if weight is None else [weight])]
    for path, found in found_in:
        shown = f"Columns: {', '.join(map(repr, found))}."
        missing = [name for name in needed if name not in found]
        if missing:
            raise ValueError(f"{path}: there is no column {missing[0]!r}. {shown}")
        if len(set(found)) < len(found):
            raise ValueError(f"{path}: every column must have a name of its own. {shown}")
        new = set(found) - set(first)
        if columns is None and new:
            raise ValueError(
                f"{path}: must have the columns of {found_in[0][0]}. Got {min(new)!r}. {shown}"
            )
    if target in names or not names or target == weight or weight in names:
        raise ValueError(
            f"{path}: X must have a column, and neither the target {target!r} nor the weights, which "
            f"must be columns of their own. Got {names}, and weights {weight!r}."
        )
    for name, values in categories.items():
        if name not in names:
            raise ValueError(f"{path}: categories must be columns of X. Got {name!r}.")
        if isinstance(given[name], str) or not values or len(set(values)) < len(values):
            raise ValueError(
                f"{path}: the values of {name!r} must be distinct, in a list. Got {given[name]!r}."
            )
    return TableColumns(target, tuple(names), categories, weight)


def samples_of(place, columns, values_of):
    """The samples of a part of a table: a data frame X, y, and weights if it has them.

    Parameters
    ----------
    place : str
        What errors call the part.
    columns : TableColumns
    values_of : callable
        ``values_of(name)`` returns a column: pandas.Series.
    """
    import pandas

    features, y = columns.features, values_of(columns.target)
    if y.isna().any():
        raise ValueError(f"{place}: the label {columns.target!r} must not be missing.")
    X, at = np.empty((len(y), len(features)), order="F"), 0
    for name in columns.names:
        values = values_of(name)
        if name in columns.categories:
            allowed = columns.categories[name]
            codes = pandas.Index(allowed).get_indexer(values)
            if (codes < 0).any():
                raise ValueError(
                    f"{place}: {name!r} must be one of {', '.join(map(repr, allowed))}. "
                    f"Got {values.tolist()[int(np.argmax(codes < 0))]!r}."
                )
            X[:, at : at + len(allowed)] = codes[:, None] == np.arange(len(allowed))
            at += len(allowed)
            continue
        X[:, at] = _numbers(place, name, values)
        at += 1
    frame = pandas.DataFrame(X, columns=features, copy=False)
    labels = y.to_numpy()
    if columns.weight is None:
        return frame, labels
    return frame, labels, _numbers(place, columns.weight, values_of(columns.weight))


def _numbers(place, name, values):
    """A column of numbers: ndarray of float64; ValueError if it has something else, or none."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(values) or is_bool_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isfinite(numbers).all():
            return numbers
    for row, value in enumerate(values.tolist()):
        if not _is_number(value):
            hint = f" Of categories give the values: categories={{{name!r}: [...]}}."
            raise ValueError(
                f"{place}, row {row}: {name!r} must be a finite number. Got {value!r}."
                f"{hint if isinstance(value, str) else ''}"
            )
    return np.array([float(value) for value in values.tolist()])


def _is_number(value):
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False
