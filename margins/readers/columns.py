"""The columns to read from tables in chunks, their types, and the samples they make."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from margins.readers.csv import hint_of_delimiter
from margins.readers.values import Distinct, numbers_of, text_of, texts_of

# Hint in the error of a text column, in Python; a command names its option instead.
HINT = " If it is a category, list its values: categories={{{name!r}: [...]}}."


class ReadAs(NamedTuple):
    """Column types for a command, which does not know categories and classes in advance."""

    labels: Callable[[Distinct], Any]  # returns the labels in the target column
    texts: frozenset[str] = frozenset()  # columns of categories, which stay text
    hint: str = HINT


class TableColumns(NamedTuple):
    """Columns to read from tables, and their types."""

    target: str
    names: tuple[str, ...]  # names of the feature columns, in order
    categories: dict[str, list[Any]]  # values of category columns, each a column of 0 and 1
    weight: str | None  # the column of sample weights
    read_as: ReadAs | None = None
    delimiter: str = ","  # of CSV

    @property
    def texts(self):
        """The columns that are read as text, as written (set of str)."""
        return {*self.categories, self.target, *(self.read_as.texts if self.read_as else ())}

    @property
    def read(self):
        """The columns of the file that are needed (list of str)."""
        return [*self.names, self.target, *([] if self.weight is None else [self.weight])]

    @property
    def features(self):
        """The names of the columns of X (list of str)."""
        return [
            column
            for name in self.names
            for column in (
                [f"{name}={value}" for value in self.categories[name]]
                if name in self.categories
                else [name]
            )
        ]


def columns_of(tables, target, columns, categories, weight):
    """Return the columns of tables, in the order of the first table (TableColumns).

    Parameters
    ----------
    tables : list of (str, list of str)
        The path and the columns of each table.
    target, columns, categories, weight
        As in `Chunks.from_parquet`.

    Raises
    ------
    ValueError
        If a requested column is missing, if two columns have the same name, or if tables differ.
    """
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names. Got the str {columns!r}.")
    if columns is not None and not isinstance(columns, Iterable):
        raise ValueError(f"columns must be None or a list of names. Got {columns!r}.")
    if categories is not None and not isinstance(categories, Mapping):
        raise ValueError(f"categories must be a dict of lists, by column. Got {categories!r}.")
    path, first = tables[0]
    names = (
        [name for name in first if name not in (target, weight)] if columns is None else list(columns)
    )
    original = dict(categories or {})
    for name, values in original.items():
        if not isinstance(values, Iterable):
            raise ValueError(f"the categories of {name!r} must be a list. Got {values!r}.")
    categories = {name: list(values) for name, values in original.items()}
    required = [target, *names, *categories, *([] if weight is None else [weight])]
    for path, header in tables:
        if columns is None:
            check_same_columns(path, header, *tables[0])
        available = f"Columns: {', '.join(map(repr, header))}."
        missing = [name for name in required if name not in header]
        if missing:
            hint = hint_of_delimiter(header)
            raise ValueError(f"{path}: there is no column {missing[0]!r}. {available}{hint}")
        if len(set(header)) < len(header):
            raise ValueError(f"{path}: every column must have a different name. {available}")
    if target in names or not names or target == weight or weight in names:
        raise ValueError(
            f"{path}: X must have at least one column; the target {target!r} and the weights must be "
            f"separate columns that are not in X. Got {names}, and weights {weight!r}."
        )
    for name, values in categories.items():
        if name not in names:
            raise ValueError(f"{path}: categories must be columns of X. Got {name!r}.")
        if isinstance(original[name], str) or not values or len(set(map(text_of, values))) < len(values):
            raise ValueError(
                f"{path}: the values of {name!r} must be distinct, in a list. Got {original[name]!r}."
            )
    chosen = TableColumns(target, tuple(names), categories, weight)
    features = chosen.features
    for position, name in enumerate(features):
        if name in features[:position]:
            raise ValueError(
                f"{path}: every column of X must have a different name; columns of categories are "
                f"called column=value. Got {name!r} twice. Set columns, or rename one of them."
            )
    return chosen


def check_same_columns(path, header, first_path, first):
    """Raise a ValueError if a table has different columns than the first table, in any order.

    Parameters
    ----------
    path, first_path : str
    header, first : list of str
        The columns of the table, and of the first table.
    """
    available = f"Columns: {', '.join(map(repr, header))}."
    missing = [name for name in first if name not in header]
    if missing:
        raise ValueError(
            f"{path}: there is no column {missing[0]!r}, which {first_path} has. {available}"
        )
    new = [name for name in header if name not in first]
    if new:
        raise ValueError(f"{path}: must have the columns of {first_path}. Got {new[0]!r}. {available}")


def samples_of(columns, values_of, labels_of):
    """Return the samples of a part of a table: a data frame X, y, and weights if it has them.

    Parameters
    ----------
    columns : TableColumns
    values_of : callable
        ``values_of(name)`` returns a column (pandas.Series).
    labels_of : callable
        ``labels_of(column)`` returns the labels in the target column (ndarray).

    Raises
    ------
    WrongValue
        If a value is not allowed.
    """
    import pandas

    y = labels_of(values_of(columns.target))
    if columns.read_as is not None:
        return _frame_of(columns, values_of), y
    features = columns.features
    X, at = np.empty((len(y), len(features)), order="F"), 0
    for name in columns.names:
        values = values_of(name)
        if name in columns.categories:
            codes = _codes_of(values, columns.categories[name])
            n = len(columns.categories[name])
            X[:, at : at + n] = codes[:, None] == np.arange(n)
            at += n
            continue
        X[:, at] = numbers_of(values, HINT.format(name=name))
        at += 1
    frame = pandas.DataFrame(X, columns=features, copy=False)
    if columns.weight is None:
        return frame, y
    return frame, y, numbers_of(values_of(columns.weight))


def _frame_of(columns, values_of):
    """Return the columns for a command: a data frame of float64, with text for categories."""
    import pandas

    read_as = columns.read_as
    return pandas.DataFrame(
        {
            name: texts_of(values_of(name))
            if name in read_as.texts
            else numbers_of(values_of(name), read_as.hint.format(name=name))
            for name in columns.names
        }
    )


def _codes_of(column, allowed):
    """Return the index in `allowed` of each category (ndarray of int), or raise a WrongValue."""
    code_of = {text_of(value): code for code, value in enumerate(allowed)}
    categories = Distinct(column)
    problem = f"{column.name!r} must be one of {', '.join(map(repr, allowed))}"
    categories.check(problem, lambda category: text_of(category) not in code_of)
    return categories.mapped(lambda category: code_of[text_of(category)], int)
