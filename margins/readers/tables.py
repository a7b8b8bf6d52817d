"""Chunks of tables, row groups of Parquet and byte ranges of CSV, and the samples in their columns."""

import contextlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from margins.readers.csv import hint_of_delimiter, lines_of_csv, note_of_index
from margins.readers.files import TEXT_BYTES, few
from margins.readers.labels import check_present, kind_of, labels_of
from margins.readers.parquet import names_of_features, row_groups
from margins.readers.values import WrongValue, text_of

# Hint in the error of a text column, in Python; a command names its option instead.
HINT = " If it is a category, list its values: categories={{{name!r}: [...]}}."


class TableColumns(NamedTuple):
    """Columns to read from tables, and their types."""

    target: str
    names: tuple[str, ...]  # names of the feature columns, in order
    categories: dict[str, list[Any]]  # values of category columns, each a column of 0 and 1
    weight: str | None  # the column of sample weights
    widths: dict[str, int]  # of the columns of vectors among `names`

    @property
    def read(self):
        """The columns of the file that are needed (list of str)."""
        return [*self.names, self.target, *([] if self.weight is None else [self.weight])]

    @property
    def features(self):
        """The names of the columns of X (list of str)."""
        columns = []
        for name in self.names:
            if name in self.categories:
                # Predictions find a missing value, such as None, by its text, which is empty.
                columns += [f"{name}={x if text_of(x) else ''}" for x in self.categories[name]]
            else:
                columns += names_of_features([name], self.widths)
        return columns


def columns_of(parts, target, columns, categories, weight):
    """Return the TableColumns for the arguments of `Chunks.from_parquet`, or raise a ValueError."""
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names. Got the str {columns!r}.")
    if columns is not None and not isinstance(columns, Iterable):
        raise ValueError(f"columns must be None or a list of names. Got {columns!r}.")
    are_found = isinstance(categories, list | tuple)
    if categories is not None and not are_found and not isinstance(categories, Mapping):
        allowed = "a dict of lists, by column, or a list of columns"
        raise ValueError(f"categories must be {allowed}. Got {categories!r}.")
    path, first = parts[0].path, parts[0].names
    names = [name for name in first if name not in (target, weight)] if columns is None else [*columns]
    original = dict.fromkeys(categories, [""]) if are_found else dict(categories or {})
    for name, values in original.items():
        if not isinstance(values, Iterable):
            raise ValueError(f"the categories of {name!r} must be a list. Got {values!r}.")
    categories = {name: list(values) for name, values in original.items()}
    files = {part.path: part.names for part in parts}
    if columns is None:
        check_same_columns(files)
    required = [target, *names, *categories, *([] if weight is None else [weight])]
    for path_of_file, header in files.items():
        check_names(path_of_file, header, required)
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
    categories = values_of(parts, [*categories]) if are_found else categories
    widths = {name: n for name, n in parts[0].widths.items() if name in names and name not in categories}
    chosen = TableColumns(target, tuple(names), categories, weight, widths)
    if not chosen.features:
        raise ValueError(f"{path}: X must have at least one column. Got only vectors without elements.")
    [(name, count)] = Counter(chosen.features).most_common(1)
    if count > 1:
        raise ValueError(
            f"{path}: every column of X must have a different name; columns of categories are "
            f"called column=value. Got {name!r} twice. Set columns, or rename one of them."
        )
    return chosen


def values_of(parts, names):
    """Return the values of columns in all parts, as sorted texts (dict of lists, by name)."""
    values = {name: set() for name in names}
    for part in parts if names else ():
        table = part(names)
        with located(table):
            for name in names:
                values[name].update(map(text_of, table.column(name).distinct().values))
    return {name: sorted(texts) for name, texts in values.items()}


def categories_of(features, columns):
    """Return the values of the columns that `features` of a model name as ``column=value`` (dict)."""
    known, present, categories = set(features), set(columns), {}
    for feature in features if known - present else ():
        heads = {feature[: equals.start()] for equals in re.finditer("=", feature)}
        for column in heads & present - known:
            categories.setdefault(column, []).append(feature[len(column) + 1 :])
    return categories


def check_names(path, header, required, error=ValueError):
    """Raise an error if a table lacks a required column."""
    present = set(header)
    if missing := [name for name in required if name not in present]:
        available = f"Columns: {few(header, 20)}.{hint_of_delimiter([*header])}"
        raise error(f"{path}: there is no column {missing[0]!r}. {available}")


def check_same_columns(headers):
    """Raise a ValueError if the columns of tables, a dict by path, are not those of the first."""
    (first_path, first), *others = headers.items()
    for path, header in others:
        available = f"Columns: {few(header, 20)}.{hint_of_delimiter(header)}"
        if missing := set(first).difference(header):
            name = min(missing, key=first.index)
            raise ValueError(f"{path}: there is no column {name!r}, which {first_path} has. {available}")
        if new := set(header).difference(first):
            name = min(new, key=header.index)
            raise ValueError(f"{path}: must have the columns of {first_path}. Got {name!r}. {available}")


class SamplesOfPart(NamedTuple):
    """Reader of the samples of a part, whose labels have a kind, or their own if it is None."""

    part: Any  # LinesOfCsv or RowGroup
    columns: TableColumns
    kind: str | None

    @property
    def facts(self):
        """The path, the number of rows, None for CSV, and the number of columns of X."""
        return self.part.path, getattr(self.part, "n_rows", None), len(self.columns.features)

    def __call__(self):
        table = self.part(self.columns.read)
        with located(table):
            return self._samples(table)

    def _samples(self, table):
        """Return a data frame X, y, and weights if there are any."""
        import pandas

        columns, labels = self.columns, table.column(self.columns.target).distinct()
        check_present(labels, table.missing)
        if self.kind is None:
            y = labels_of(labels, kind_of(labels))
        else:
            y = labels_of(labels, self.kind, ", as the first labels of the files")
        features, widths = columns.features, columns.widths
        vectors = {name: table.column(name).vectors(width) for name, width in widths.items()}
        is_single = set(columns.names) <= {*vectors, *columns.categories} and vectors
        dtype = np.result_type(*vectors.values(), *([] if is_single else [np.float64]))
        X, at = np.empty((len(y), len(features)), dtype, order="C" if vectors else "F"), 0
        for name in columns.names:
            column = table.column(name)
            if name in columns.categories:
                codes, n = codes_of(column, columns.categories[name]), len(columns.categories[name])
                X[:, at : at + n] = codes[:, None] == np.arange(n)
                at += n
            elif name in vectors:
                X[:, at : at + widths[name]] = vectors.pop(name)
                at += widths[name]
            else:
                X[:, at] = column.numbers(HINT.format(name=name))
                at += 1
        frame = pandas.DataFrame(X, columns=features, copy=False)
        if columns.weight is None:
            return frame, y
        return frame, y, table.column(columns.weight).numbers()


def codes_of(column, allowed):
    """Return the index in `allowed` of each category (ndarray of int), or raise a WrongValue."""
    code_of = {text_of(value): code for code, value in enumerate(allowed)}
    categories = column.distinct()
    problem = f"{column.name!r} must be one of {', '.join(map(repr, allowed))}"
    categories.check(problem, lambda category: text_of(category) not in code_of)
    return categories.mapped(lambda category: code_of[text_of(category)], int)


@contextlib.contextmanager
def located(table):
    """Return a context in which a WrongValue becomes an error with its place in a table."""
    try:
        yield
    except WrongValue as error:
        raise table.located(error) from None


def parquet_parts(paths, target, columns, categories, weight):
    """Return readers of the row groups of Parquet files (list of SamplesOfPart)."""
    parts = row_groups(paths)
    chosen = columns_of(parts, target, columns, categories, weight)
    kind = kind_in_all(target, {part.path: part.kinds[target] for part in parts})
    kind = "whole" if kind == "numbers" else kind
    return [SamplesOfPart(part, chosen, kind) for part in parts]


def csv_parts(paths, target, columns, categories, weight, n_bytes=TEXT_BYTES, delimiter=","):
    """Return readers of parts of CSV files, of about `n_bytes`, with labels of one kind."""
    parts = lines_of_csv(paths, delimiter, n_bytes)
    chosen = columns_of(parts, target, columns, categories, weight)
    if columns is None and "Unnamed: 0" in chosen.names:
        warnings.warn(note_of_index(parts[0].path), stacklevel=3)
    kind = None
    if len(parts) > 1:
        with contextlib.suppress(ValueError, WrongValue):  # reading the part raises the error
            table = parts[0]([target])
            labels = table.column(target).distinct()
            check_present(labels, table.missing)
            kind = kind_of(labels)
    return [SamplesOfPart(part, chosen, kind) for part in parts]


def kind_in_all(target, kinds):
    """Return the kind of the labels, or raise a ValueError if `kinds`, by path, differ."""
    (first_path, first), *others = kinds.items()
    for path, kind in others:
        if kind != first:
            problem = f"must be {first}, as in {first_path}. Got {kind}."
            raise ValueError(f"{path}: the labels {target!r} {problem}")
    return first
