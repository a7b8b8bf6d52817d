"""The figures that the tables of Khardon & Wachman print, and the cells of our draws they belong to."""

from dataclasses import dataclass

from noise_tolerance_data import NOISE
from noise_tolerance_draws import SVM_COLUMNS
from noise_tolerance_studies import AVERAGINGS
from noise_tolerance_tables import (
    COLUMNS,
    OPTIMIZED,
    RELATIONS,
    SEARCHED,
    SIZES,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_6_SVM,
    TABLE_7,
)
from paper_verdicts import ROUNDING, Verdict

COUNTED = 0.0  # nothing is rounded in Table 2


@dataclass(frozen=True)
class Cell:
    """A figure of the paper.

    Attributes
    ----------
    table : int
    row : tuple of str
        The data set, and the column or relation of the table.
    part : str
        The averaging, or "data sets".
    paper : float
    block, name : str
        Where our draws are kept.
    rounding : float
    """

    table: int
    row: tuple
    part: str
    paper: float
    block: str
    name: str
    rounding: float = ROUNDING

    def verdict(self, results):
        """The figure beside our draws: Verdict."""
        return Verdict(self.paper, results.values(self.block, self.name), self.rounding)


def cells_of(table):
    """The cells of a table, as far as the paper prints them: list of Cell."""
    found = {2: _relations, 3: _search, 4: _search_of_noise, 5: _sizes, 6: _double, 7: _large}
    return [cell for cell in found[table]() if cell.paper is not None]


def parts_of(table):
    """What the columns of a page's table are: tuple of str."""
    return ("data sets",) if table == 2 else AVERAGINGS


def _relations():
    for noise, counts in TABLE_2.items():
        block = f"2: {NOISE}{noise:g}"
        for relation, count in zip(RELATIONS, counts, strict=True):
            row = f"{NOISE}{noise:g}", relation
            yield Cell(2, row, "data sets", count, block, relation, COUNTED)


def _of(table, data, columns, accuracies):
    for averaging, figures in accuracies.items():
        for column, figure in zip(columns, figures, strict=False):
            place = f"{table}: {data}", f"{column}, {averaging}"
            yield Cell(table, (data, column), averaging, figure, *place)


def _search():
    for data, accuracies in TABLE_3.items():
        yield from _of(3, data, SEARCHED, accuracies)


def _search_of_noise():
    for noise, accuracies in TABLE_4.items():
        yield from _of(4, f"{NOISE}{noise:g}", SEARCHED, accuracies)


def _sizes():
    for tau, accuracies in TABLE_5.items():
        for averaging, (figures, _) in accuracies.items():
            for size, figure in zip(SIZES, figures, strict=True):
                row = f"{size}, tau = {tau:g}"
                yield Cell(5, ("adult", row), averaging, figure, "5: adult", f"{row}, {averaging}")


def _double():
    for data, accuracies in TABLE_6.items():
        means = {averaging: figures for averaging, (figures, _) in accuracies.items()}
        yield from _of(6, data, COLUMNS, means)


def _large():
    for (data, kernel), accuracies in TABLE_7.items():
        yield from _of(7, f"{data}, {kernel}", OPTIMIZED, accuracies)


def svm_cells():
    """The figures of Table 6 for the SVM: list of (data, column, figure, half-width)."""
    return [
        (data, column, *figures)
        for data, pairs in TABLE_6_SVM.items()
        for column, figures in zip(SVM_COLUMNS, pairs, strict=True)
    ]
