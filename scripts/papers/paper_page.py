"""docs/papers.md, made of docs/papers.json and of what the papers print."""

from pathlib import Path

import paper_comparisons
from noise_tolerance_draws import IN_FILE_ORDER
from paper_cells import cells_of, parts_of, svm_cells
from paper_notes import (
    APART_CELLS,
    DRAWN,
    FIGURES,
    HEAD,
    INTRODUCTIONS,
    MAXIMUM_MARGIN,
    READINGS,
    SVM,
    TITLES,
)
from paper_verdicts import APART, FEW_DRAWS, NOT_RUN, WITHIN, Verdict, summary, together

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
TABLES = (2, 3, 4, 5, 6, 7)
BY_DATA = (3, 4, 6)  # whose cells of a data set share their draws


def page(results):
    """The page: str."""
    said = [HEAD, overview(results)]
    for table in TABLES:
        said += [f"## {TITLES[table]}", INTRODUCTIONS[table]]
        said += [summary(verdicts_of(table, results)), cells_table(table, results)]
        if table in BY_DATA:
            said += [f"### {TITLES[table]}, mean of the cells of a data set", data_table(table, results)]
        if table in FIGURES:
            said.append(FIGURES[table])
    said += [SVM, svm_table(results)]
    said += [APART_CELLS, apart_table(results)]
    said += [READINGS, readings_table(results)]
    said += [MAXIMUM_MARGIN, *comparison_tables(results)]
    return "\n\n".join(said) + "\n"


def verdicts_of(table, results):
    return [cell.verdict(results) for cell in cells_of(table)]


def markdown(titles, rows):
    """A table: str."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def overview(results):
    """How many cells of every table have which verdict: str."""
    rows = []
    for table in TABLES:
        verdicts = verdicts_of(table, results)
        words = [verdict.word for verdict in verdicts]
        counts = [str(words.count(word)) for word in (WITHIN, APART, FEW_DRAWS, NOT_RUN)]
        rows.append([TITLES[table], str(len(words)), *counts, draws_of(verdicts)])
    return markdown(["table", "cells", WITHIN, APART, FEW_DRAWS, NOT_RUN, "draws"], rows)


def draws_of(verdicts):
    """How many draws the cells have that were run: str."""
    numbers = sorted({len(verdict.values) for verdict in verdicts} - {0})
    return (
        " to ".join(str(number) for number in dict.fromkeys([numbers[0], numbers[-1]]))
        if numbers
        else ""
    )


def cells_table(table, results):
    """Paper, ours with its spread, and verdict of every cell: str."""
    parts = parts_of(table)
    titles = ["data", "column"]
    for part in parts:
        titles += [f"{part}: paper", "ours", "verdict"]
    rows = {}
    for cell in cells_of(table):
        rows.setdefault(cell.row, {})[cell.part] = cell.verdict(results)
    lines = []
    for row, verdicts in rows.items():
        line = list(row)
        for part in parts:
            line += triple(verdicts.get(part))
        lines.append(line)
    return markdown(titles, lines)


def apart_table(results):
    """The cells that are apart, and how distant they are: str."""
    rows = []
    for cell in (cell for table in TABLES for cell in cells_of(table)):
        verdict = cell.verdict(results)
        if verdict.word == APART:
            paper, ours, _ = triple(verdict)
            score = "" if verdict.score is None else f"{verdict.score:+.1f}"
            place = [str(cell.table), *cell.row, cell.part]
            rows.append([*place, paper, ours, score, f"{100 * verdict.beyond:.0f} %"])
    titles = ["table", "data", "column", "", "paper", "ours", "(paper - ours) / spread", "draws beyond"]
    return markdown(titles, rows)


def data_table(table, results):
    """Cells of a data set share its draw; their mean has a verdict that does not count it often: str."""
    groups = {}
    for cell in cells_of(table):
        groups.setdefault(cell.row[0], []).append(cell.verdict(results))
    rows = []
    for data, verdicts in groups.items():
        verdict = together(verdicts)
        score = "" if verdict.score is None else f"{verdict.score:+.1f}"
        paper, ours, word = triple(verdict)
        rows.append([data, f"{float(paper):.1f}", ours, score, word, str(len(verdict.values))])
    return markdown(["data", "paper", "ours", "(paper - ours) / spread", "verdict", "draws"], rows)


def triple(verdict):
    """The paper's figure, ours, and the verdict: list of str."""
    if verdict is None:
        return ["", "", ""]
    ours = "" if verdict.mean is None else f"{verdict.mean:.1f}"
    if verdict.spread is not None:
        ours += f" ± {verdict.spread:.1f}"
    word = verdict.word
    if word == APART:
        deviation = verdict.paper - verdict.mean
        word = f"**apart**, {deviation:+.1f}"
    return [f"{verdict.paper:g}", ours, word]


def svm_table(results):
    """Table 6 for the SVM, whose folds seem to be those of the file: str."""
    rows = []
    for data, column, figure, half in svm_cells():
        own, own_half = (
            next(iter(results.values(f"6: {data}, {IN_FILE_ORDER}", name)), None)
            for name in (column, f"{column}, +-")
        )
        drawn = results.values(f"6: {data}, svm", column)
        words = [NOT_RUN, ""]
        if own is not None:
            apart = abs(own - figure) > half + own_half
            words = [f"{own:.1f} ± {own_half:.1f}", APART if apart else "overlaps"]
        mean = triple(Verdict(figure, drawn))[1] or NOT_RUN
        rows.append([data, column, f"{figure:g} ± {half:g}", *words, mean])
    titles = ["data", "column", "paper", IN_FILE_ORDER, "verdict", "samples permuted"]
    return markdown(titles, rows)


def readings_table(results):
    """How many cells every reading explains: str."""
    rows = [
        [
            table,
            f"**{what}**" if what in DRAWN else what,
            str(draws),
            f"{within} of {cells}",
            f"{score:.2f}",
        ]
        for table, readings in results.readings.items()
        for what, (draws, within, cells, score) in readings.items()
    ]
    return markdown(["table", "reading", "draws", "within", "mean distance in spreads"], rows)


def comparison_tables(results):
    """The tables of the papers on maximum margins: list of str."""
    return [
        f"### {title}\n\n{markdown(titles, rows)}"
        for title, titles, rows in paper_comparisons.tables(results.comparisons)
    ]


def write(results, path=PAGE):
    """Write the page."""
    Path(path).write_text(page(results), encoding="utf-8")
