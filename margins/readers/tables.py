"""Chunks of tables: row groups of Parquet, and byte ranges of CSV."""

import contextlib
from typing import Any, NamedTuple

from margins.readers.columns import TableColumns, columns_of, samples_of
from margins.readers.csv import lines_of_csv
from margins.readers.files import TEXT_BYTES
from margins.readers.labels import check_present, kind_of, labels_of
from margins.readers.parquet import row_groups
from margins.readers.values import WrongValue


class SamplesOfPart(NamedTuple):
    """Reader of the samples of a part, whose labels have a kind, or their own if it is None."""

    part: Any  # LinesOfCsv or RowGroup
    columns: TableColumns
    kind: str | None

    def __call__(self):
        table = self.part(self.columns.read)
        with located(table):
            return samples_of(table, self.columns, self._labels)

    def _labels(self, labels):
        if self.kind is None:
            return labels_of(labels, kind_of(labels))
        return labels_of(labels, self.kind, ", as the first labels of the files")


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
