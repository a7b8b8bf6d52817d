"""docs/papers.md, made of `page.md`, docs/papers.json and the figures that the papers print."""

import itertools
import math
import re
from pathlib import Path
from string import Template

import reporting
from paper_results import APART, FEW_DRAWS, NOT_RUN, WITHIN, Verdict, summary, together
from runs import AVERAGINGS, IN_FILE_ORDER, PUBLISHED, ROUNDING, SVM_COLUMNS, TABLES, cells_of

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
TEMPLATE = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
TITLES = {
    int(number): title for title, number in re.findall(r"^## (\[4\], Table (\d): .+)$", TEMPLATE, re.M)
}
BY_DATA = (3, 4, 6)  # whose cells of a data set share their draws
# The readings that the tables are drawn with.
DRAWN = ("lambda in units of eta", "discarded samples not replaced", "eta = 0.4", "all training samples")
DATA = {"a9a": "Adult", "w8a": "Web", "covtype": "Covertype"}  # of [1] to [3]
SECTIONS = {"1": "soft-margin", "2": "maximum-margin"}  # of published.toml, by paper
QUANTITIES = {"1": ("J", "objective", 1.0, 6), "2": ("margin", "1e4 margin", 1e4, 4)}
COMPETITORS = {"1": "LinearSVC", "2": "LinearSVC, 0.01"}
TOLERANCE = 0.01
MOST = (1.0, 2.5, 2.5)  # [3]: less time than pdm, "about twice" that of mpu and DCD
HALF_DIGIT = 5e-4  # of four significant ones


def page(results):
    """Return the page."""
    fields = {
        "overview": overview(results),
        "svm": svm_table(results),
        "apart": apart_table(results),
        "readings": readings_table(results),
        "comparisons": "\n\n".join(
            f"### {title}\n\n{reporting.markdown(titles, rows)}"
            for title, titles, rows in comparisons(results.comparisons)
        ),
    }
    for table in TABLES:
        fields[f"summary_{table}"] = summary(verdicts_of(table, results))
        fields[f"cells_{table}"] = cells_table(table, results)
    fields |= {f"means_{table}": means_table(table, results) for table in BY_DATA}
    return Template(TEMPLATE).substitute(fields)


def write(results, path=PAGE):
    """Write the page."""
    Path(path).write_text(page(results), encoding="utf-8")


def verdicts_of(table, results):
    """Return the verdicts on all cells of a table."""
    return [cell.verdict(results) for cell in cells_of(table)]


def triple(verdict):
    """Return the paper's figure, ours, and the verdict: list of str."""
    if verdict is None:
        return ["", "", ""]
    ours = "" if verdict.mean is None else f"{verdict.mean:.1f}"
    if verdict.spread is not None:
        ours += f" ± {verdict.spread:.1f}"
    word = verdict.word
    if word == APART:
        word = f"**apart**, {verdict.paper - verdict.mean:+.1f}"
    return [f"{verdict.paper:g}", ours, word]


def score_of(verdict):
    """Return the distance of the paper's figure in spreads, or nothing: str."""
    return "" if verdict.score is None else f"{verdict.score:+.1f}"


def overview(results):
    """Count the verdicts of every table."""
    rows = []
    for table in TABLES:
        verdicts = verdicts_of(table, results)
        words = [verdict.word for verdict in verdicts]
        counts = [str(words.count(word)) for word in (WITHIN, APART, FEW_DRAWS, NOT_RUN)]
        numbers = sorted({len(verdict.values) for verdict in verdicts} - {0})
        draws = " to ".join(map(str, dict.fromkeys(numbers[:1] + numbers[-1:])))
        rows.append([TITLES[table], str(len(words)), *counts, draws])
    return reporting.markdown(["table", "cells", WITHIN, APART, FEW_DRAWS, NOT_RUN, "draws"], rows)


def cells_table(table, results):
    """Return paper, ours with its spread, and verdict of every cell."""
    parts = ("data sets",) if table == 2 else AVERAGINGS
    titles = ["data", "column"]
    for part in parts:
        titles += [f"{part}: paper", "ours", "verdict"]
    rows = {}
    for cell in cells_of(table):
        rows.setdefault(cell.row, {})[cell.part] = cell.verdict(results)
    lines = [
        [*row, *itertools.chain.from_iterable(triple(verdicts.get(part)) for part in parts)]
        for row, verdicts in rows.items()
    ]
    return reporting.markdown(titles, lines)


def means_table(table, results):
    """Return a verdict on the mean of the cells of each data set, which share its draw."""
    groups = {}
    for cell in cells_of(table):
        groups.setdefault(cell.row[0], []).append(cell.verdict(results))
    rows = []
    for data, verdicts in groups.items():
        verdict = together(verdicts)
        paper, ours, word = triple(verdict)
        rows.append(
            [data, f"{float(paper):.1f}", ours, score_of(verdict), word, str(len(verdict.values))]
        )
    return reporting.markdown(
        ["data", "paper", "ours", "(paper - ours) / spread", "verdict", "draws"], rows
    )


def apart_table(results):
    """Return the cells that are apart, and how distant they are."""
    rows = []
    for cell in (cell for table in TABLES for cell in cells_of(table)):
        verdict = cell.verdict(results)
        if verdict.word == APART:
            place = [str(cell.table), *cell.row, cell.part]
            rows.append(
                [*place, *triple(verdict)[:2], score_of(verdict), f"{100 * verdict.beyond:.0f} %"]
            )
    titles = ["table", "data", "column", "", "paper", "ours", "(paper - ours) / spread", "draws beyond"]
    return reporting.markdown(titles, rows)


def svm_table(results):
    """Return Table 6 for the SVM, whose folds seem to be those of the file."""
    rows = []
    for data, pairs in PUBLISHED["svm"].items():
        for column, (figure, half) in zip(SVM_COLUMNS, pairs, strict=True):
            block, words = f"6: {data}, {IN_FILE_ORDER}", [NOT_RUN, ""]
            for own, own_half in zip(
                results.values(block, column), results.values(block, f"{column}, +-"), strict=True
            ):
                is_apart = abs(own - figure) > half + own_half
                words = [f"{own:.1f} ± {own_half:.1f}", APART if is_apart else "overlaps"]
            drawn = Verdict(figure, results.values(f"6: {data}, svm", column), ROUNDING)
            rows.append([data, column, f"{figure:g} ± {half:g}", *words, triple(drawn)[1] or NOT_RUN])
    titles = ["data", "column", "paper", IN_FILE_ORDER, "verdict", "samples permuted"]
    return reporting.markdown(titles, rows)


def readings_table(results):
    """Return how many cells every reading explains."""
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
    return reporting.markdown(["table", "reading", "draws", "within", "mean distance in spreads"], rows)


# ------------------------------------------------------------------------ the papers on maximum margins


def comparisons(measured):
    """Return the tables of [1] to [3]: list of (title, titles of columns, rows of str)."""
    tables = [_figures(measured, paper, table) for paper in SECTIONS for table in (1, 2)]
    return [*tables, _shrinking(measured)]


def _rows(measured, paper, table):
    """Return the rows of a table by data set and algorithm."""
    return {
        (name, row["algorithm"]): row
        for name in DATA
        for row in measured.get(f"[{paper}]: {name}", ())
        if row["table"] == table
    }


def _figures(measured, paper, table):
    """Return objectives or margins, updates, and seconds in units of the competitor's."""
    key, label, factor, digits = QUANTITIES[paper]
    has_figures, has_updates = (paper, table) != ("1", 2), (paper, table) == ("2", 1)
    titles = ["data", "algorithm"]
    titles += [f"{label}: paper", "ours", "verdict"] if has_figures else []
    titles += ["1e-6 updates: paper", "ours", "verdict"] if has_updates else []
    titles += ["time: paper", "ours"]
    rows, lines = _rows(measured, paper, table), []
    for name, algorithm in itertools.product(DATA, PUBLISHED[SECTIONS[paper]][str(table)]):
        line, row = [DATA[name], algorithm], rows.get((name, algorithm))
        if row is None:
            lines.append([*line, NOT_RUN, *[""] * (len(titles) - 3)])
            continue
        if has_figures:
            line += _within_tolerance(row["paper"].get(key), row.get(key), factor, digits)
        if has_updates:
            line += _updates(row)
        competitor = _seconds(measured, paper, name, COMPETITORS[paper], table)
        line += [_number(row["paper"].get("ratio")), _number(_ratio(row["seconds"], competitor))]
        lines.append(line)
    return f"[{paper}], Table {table}", titles, lines


def _within_tolerance(paper, ours, factor, digits):
    """Return the paper's figure, ours, and whether they differ by less than 1 %."""
    if paper is None:
        return ["", "" if ours is None else f"{factor * ours:.{digits}g}", ""]
    deviation = ours / paper - 1
    word = WITHIN if abs(deviation) <= TOLERANCE else f"**{APART}**"
    texts = (f"{factor * value:.{digits}g}" for value in (paper, ours))
    return [*texts, f"{word}, {100 * deviation:+.2f} %".replace("-0.00", "+0.00")]


def _updates(row):
    """Return the paper's number of updates, ours, and whether other orders of ours have as many."""
    paper = 1e-6 * row["paper"]["n_updates"]
    values = [1e-6 * value for value in row.get("updates", [row["n_updates"]])]
    verdict = Verdict(paper, values, HALF_DIGIT * paper)
    ours = f"{verdict.mean:.4g}" + (f" ± {verdict.spread:.2g}" if verdict.spread else "")
    word = f"**{APART}**" if verdict.word == APART else verdict.word
    return [f"{paper:.4g}", ours, f"{word}, {100 * (verdict.mean / paper - 1):+.1f} %"]


def _seconds(measured, paper, name, algorithm, table):
    """Return the seconds of an algorithm in a table or, failing that, in the other one."""
    rows = _rows(measured, paper, 3 - table) | _rows(measured, paper, table)
    return rows.get((name, algorithm), {}).get("seconds")


def _ratio(seconds, unit):
    return seconds / unit if seconds is not None and unit else math.nan


def _number(value):
    return "" if value is None or math.isnan(value) else reporting.number(value, 2)


def _shrinking(measured):
    """Return the seconds of the two algorithms of [3] in units of others'."""
    others = ("pdm", "mpu", COMPETITORS["2"])
    titles = ["data", "algorithm", "1e4 margin", *(f"time / {other}" for other in others), "verdict"]
    lines = []
    for (name, algorithm), row in _rows(measured, "2", 2).items():
        if algorithm in ("mpcs", "mpvs"):
            ratios = [
                _ratio(row["seconds"], _seconds(measured, "2", name, other, 2)) for other in others
            ]
            is_within = all(ratio <= most for ratio, most in zip(ratios, MOST, strict=True))
            texts = [f"{1e4 * row['margin']:.4g}", *map(_number, ratios)]
            lines.append([DATA[name], algorithm, *texts, WITHIN if is_within else f"**{APART}**"])
    return "[3], what its text says of Table 1", titles, lines
