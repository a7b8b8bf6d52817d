"""The columns of tables in chunks: which are read, as what, and their samples."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from margins.data.table_values import Distinct, numbers_of, text_of, texts_of

# What the error of a column of text adds, in Python; a command names its option.
HINT = " Of categories give the values: categories={{{name!r}: [...]}}."


class ReadAs(NamedTuple):
    """How a command reads columns of tables, whose categories and classes it does not know before."""

    labels: Callable[[Distinct], Any]  # returns the labels of the column of the target
    texts: frozenset[str] = frozenset()  # columns of categories, left as a column of text each
    hint: str = HINT


class TableColumns(NamedTuple):
    """Which columns of tables are read, and as what."""

    target: str
    names: tuple[str, ...]  # of the features, in order
    categories: dict[str, list[Any]]  # the values of columns of categories, each a column of 0 and 1
    weight: str | None  # the column of sample weights
    read_as: ReadAs | None = None

    @property
    def texts(self):
        """The columns that are read as text, as it is written: set of str."""
        return {*self.categories, self.target, *(self.read_as.texts if self.read_as else ())}

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
    if columns is not None and not isinstance(columns, Iterable):
        raise ValueError(f"columns must be None or a list of names. Got {columns!r}.")
    if categories is not None and not isinstance(categories, Mapping):
        raise ValueError(f"categories must be a dict of lists, by column. Got {categories!r}.")
    path, first = found_in[0]
    names = (
        [name for name in first if name not in (target, weight)] if columns is None else list(columns)
    )
    given = dict(categories or {})
    for name, values in given.items():
        if not isinstance(values, Iterable):
            raise ValueError(f"the categories of {name!r} must be a list. Got {values!r}.")
    categories = {name: list(values) for name, values in given.items()}
    needed = [target, *names, *categories, *([] if weight is None else [weight])]
    for path, found in found_in:
        if columns is None:
            check_same_columns(path, found, *found_in[0])
        shown = f"Columns: {', '.join(map(repr, found))}."
        missing = [name for name in needed if name not in found]
        if missing:
            raise ValueError(f"{path}: there is no column {missing[0]!r}. {shown}")
        if len(set(found)) < len(found):
            raise ValueError(f"{path}: every column must have a name of its own. {shown}")
    if target in names or not names or target == weight or weight in names:
        raise ValueError(
            f"{path}: X must have a column, and neither the target {target!r} nor the weights, which "
            f"must be columns of their own. Got {names}, and weights {weight!r}."
        )
    for name, values in categories.items():
        if name not in names:
            raise ValueError(f"{path}: categories must be columns of X. Got {name!r}.")
        if isinstance(given[name], str) or not values or len(set(map(text_of, values))) < len(values):
            raise ValueError(
                f"{path}: the values of {name!r} must be distinct, in a list. Got {given[name]!r}."
            )
    chosen = TableColumns(target, tuple(names), categories, weight)
    features = chosen.features
    for position, name in enumerate(features):
        if name in features[:position]:
            raise ValueError(
                f"{path}: every column of X must have a name of its own, and those of categories are "
                f"called column=value. Got {name!r} twice. Choose the columns, or rename one."
            )
    return chosen


def check_same_columns(path, found, first_path, first):
    """Raise ValueError if a table has other columns than the first one, in any order.

    Parameters
    ----------
    path, first_path : str
    found, first : list of str
        The columns of each.
    """
    shown = f"Columns: {', '.join(map(repr, found))}."
    missing = [name for name in first if name not in found]
    if missing:
        raise ValueError(f"{path}: there is no column {missing[0]!r}, which {first_path} has. {shown}")
    new = [name for name in found if name not in first]
    if new:
        raise ValueError(f"{path}: must have the columns of {first_path}. Got {new[0]!r}. {shown}")


def samples_of(columns, values_of, labels_of):
    """The samples of a part of a table: a data frame X, y, and weights if it has them.

    Parameters
    ----------
    columns : TableColumns
    values_of : callable
        ``values_of(name)`` returns a column: pandas.Series.
    labels_of : callable
        ``labels_of(column)`` returns the labels in the column of the target: ndarray.

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
    """The columns as a command reads them: a data frame of float64, and of text for categories."""
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
    """Which of the values that are allowed each category is: ndarray of int. Else WrongValue."""
    code_of = {text_of(value): code for code, value in enumerate(allowed)}
    categories = Distinct(column)
    problem = f"{column.name!r} must be one of {', '.join(map(repr, allowed))}"
    categories.check(problem, lambda category: text_of(category) not in code_of)
    return categories.mapped(lambda category: code_of[text_of(category)], int)
