"""The tables of the papers on maximum margins, as `reproduce_*` measure them.

Papers have their numbers in docs/algorithms.md: [1] soft margin, [2] maximum margin, [3] weight
shrinking, of whose table only what the text says of the times is known.
"""

import itertools
import math

import reporting
import reproduce_maximum_margin
import reproduce_soft_margin
from paper_verdicts import APART, NOT_RUN, WITHIN, Verdict

SCRIPTS = {"1": reproduce_soft_margin, "2": reproduce_maximum_margin}
DATA = {"a9a": "Adult", "w8a": "Web", "covtype": "Covertype"}
KEPT = ("algorithm", "margin", "n_updates", "J", "gap", "fraction", "seconds", "ratio", "tol", "mark")
DIGITS = 6
TOLERANCE = 0.01
MOST = (1.0, 2.5, 2.5)  # [3]: less time than pdm, "about twice" that of mpu and DCD
HALF_DIGIT = 5e-4  # of four significant ones
QUANTITIES = {"1": ("J", "objective", 1.0, 6), "2": ("margin", "1e4 margin", 1e4, 4)}
# Updates depend on the order of the samples, margins hardly: the papers have one order, we draw several.
N_ORDERS = {"a9a": 10, "w8a": 10, "covtype": 4}  # of covtype they take minutes
COMPETITOR = {"1": "LinearSVC", "2": reproduce_maximum_margin.PAPER_SVC}


def measured(paper, name, max_iter):
    """Both tables of a paper for one data set: list of rows, each a dict with the paper's numbers."""
    result = SCRIPTS[paper].reproduce(name, arguments_of(max_iter, 0), reporting.Progress(0))
    rows = [kept(row, table) for table in (1, 2) for row in result[f"table_{table}"]]
    if paper == "2":
        updates = updates_of_orders(name, max_iter)
        for row in rows:
            if row["table"] == 1:
                row["updates"] = updates[row["algorithm"]]
    return rows


def kept(row, table):
    """What the file keeps of a row of a table: dict."""
    found = {"table": table, **{key: rounded(row[key]) for key in KEPT if key in row}}
    return found | {"paper": {key: rounded(value) for key, value in (row["paper"] or {}).items()}}


def is_complete(rows):
    """True if both tables have been measured: the competitor comes last."""
    return any(row["algorithm"] == "LinearSVC" for row in rows)


def updates_of_orders(name, max_iter):
    """[2], Table 1: the updates of every algorithm in other orders of the samples: dict of list."""
    found = {}
    for seed in range(N_ORDERS[name]):
        arguments = arguments_of(max_iter, seed)
        problem = reproduce_maximum_margin.Problem(name, arguments, reporting.Progress(0))
        for row in problem.clean_pass_rows():
            found.setdefault(row["algorithm"], []).append(row["n_updates"])
    return found


def arguments_of(max_iter, seed):
    """What the scripts read of a command line: argparse.Namespace."""
    options = ["--max-iter", str(max_iter), "--seed", str(seed)]
    return reporting.command_line("").parse_args(options)


def rounded(value):
    """Floats to some significant digits; what is not finite becomes None."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def tables(comparisons):
    """What is reported: list of (title, titles of columns, rows of str)."""
    found = []
    for paper in SCRIPTS:
        for table in (1, 2):
            found.append(_figures(comparisons, paper, table))
    return [*found, _shrinking(comparisons)]


def _rows(comparisons, paper, table):
    """Pairs of a data set and one of its rows."""
    return [
        (name, row)
        for name in DATA
        for row in comparisons.get(f"[{paper}]: {name}", ())
        if row["table"] == table
    ]


def _figures(comparisons, paper, table):
    """Objectives or margins, updates, and seconds in units of the competitor's."""
    key, label, factor, digits = QUANTITIES[paper]
    has_figures, has_updates = (paper, table) != ("1", 2), (paper, table) == ("2", 1)
    titles = ["data", "algorithm"]
    titles += [f"{label}: paper", "ours", "verdict"] if has_figures else []
    titles += ["1e-6 updates: paper", "ours", "verdict"] if has_updates else []
    titles += ["time: paper", "ours"]
    printed = getattr(SCRIPTS[paper], f"PAPER_TABLE_{table}")
    measured_rows = {(name, row["algorithm"]): row for name, row in _rows(comparisons, paper, table)}
    lines = []
    for name, algorithm in itertools.product(DATA, printed):
        line, row = [DATA[name], algorithm], measured_rows.get((name, algorithm))
        if row is None:
            lines.append([*line, NOT_RUN, *[""] * (len(titles) - 3)])
            continue
        if has_figures:
            line += _triple(row["paper"].get(key), row.get(key), factor, digits)
        if has_updates:
            line += _updates(row)
        competitor = _seconds(comparisons, paper, name, COMPETITOR[paper], table)
        line += [_number(row["paper"].get("ratio"), 2), _number(_over(row["seconds"], competitor), 2)]
        lines.append(line)
    return f"[{paper}], Table {table}", titles, lines


def _triple(paper, ours, factor, digits):
    """The paper's figure, ours, and whether they differ by less than 1 %."""
    if paper is None:
        return ["", "" if ours is None else f"{factor * ours:.{digits}g}", ""]
    difference = ours / paper - 1
    word = WITHIN if abs(difference) <= TOLERANCE else f"**{APART}**"
    texts = (f"{factor * value:.{digits}g}" for value in (paper, ours))
    return [*texts, f"{word}, {100 * difference:+.2f} %".replace("-0.00", "+0.00")]


def _updates(row):
    """The paper's number of updates, ours, and whether other orders of ours have as many."""
    paper = 1e-6 * row["paper"]["n_updates"]
    values = [1e-6 * value for value in row.get("updates", [row["n_updates"]])]
    verdict = Verdict(paper, values, HALF_DIGIT * paper)
    ours = f"{verdict.mean:.4g}" + (f" ± {verdict.spread:.2g}" if verdict.spread else "")
    word = f"**{APART}**" if verdict.word == APART else verdict.word
    difference = verdict.mean / paper - 1
    return [f"{paper:.4g}", ours, f"{word}, {100 * difference:+.1f} %"]


def _seconds(comparisons, paper, name, algorithm, table):
    """Of an algorithm, in the table or, if it is not there, in the paper's other one: float or None."""
    for place in (table, 3 - table):
        for data, row in _rows(comparisons, paper, place):
            if (data, row["algorithm"]) == (name, algorithm):
                return row["seconds"]
    return None


def _over(seconds, unit):
    return seconds / unit if seconds is not None and unit else None


def _number(value, digits):
    return "" if value is None else reporting.number(value, digits)


def _shrinking(comparisons):
    """[3]: the seconds of its two algorithms in units of others'."""
    others = ("pdm", "mpu", COMPETITOR["2"])
    titles = ["data", "algorithm", "1e4 margin", *(f"time / {other}" for other in others), "verdict"]
    lines = []
    for name, row in _rows(comparisons, "2", 2):
        if row["algorithm"] not in ("mpcs", "mpvs"):
            continue
        ratios = [_over(row["seconds"], _seconds(comparisons, "2", name, other, 2)) for other in others]
        said = all(ratio <= most for ratio, most in zip(ratios, MOST, strict=True))
        texts = [f"{1e4 * row['margin']:.4g}", *(_number(ratio, 2) for ratio in ratios)]
        lines.append([DATA[name], row["algorithm"], *texts, WITHIN if said else f"**{APART}**"])
    return "[3], what its text says of Table 1", titles, lines
