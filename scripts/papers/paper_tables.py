"""Every cell of the papers' tables that the data reach: paper, ours, spread, verdict.

    MARGINS_DATA=folder python scripts/papers/paper_tables.py

measures what docs/papers.json does not hold yet, first a draw of every block, then the cheapest first,
and writes that file after every draw: an interrupted run continues where it was. Then it writes
docs/papers.md. --minutes ends it after the draw in progress; --page only writes the page. Papers have
their numbers in docs/algorithms.md.
"""

import functools
import math
import sys
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import paper_page
import real_data
import reporting
import reproduce
from noise_tolerance import Draws
from paper_results import FILE, Results
from runs import TABLES, blocks_of

PAPERS = ("1", "2", "4")
ROW = ("algorithm", "margin", "n_updates", "J", "gap", "fraction", "seconds", "ratio", "tol", "mark")
DIGITS = 6
# Updates depend on the order of the samples, margins hardly: the papers have one order, we draw several.
N_ORDERS = {"a9a": 10, "w8a": 10, "covtype": 4}  # of covtype they take minutes


def draw(blocks, results, draws, end, say):
    """Draw what is left of the blocks, those without a draw first; a draw that has begun is finished."""
    with warnings.catch_warnings():
        # The paper's runs have a fixed number of epochs.
        warnings.simplefilter("ignore", ConvergenceWarning)
        while time.monotonic() < end:
            left = [block for block in blocks if block.draws_left(results)]
            if not left:
                break
            undrawn = [block for block in left if math.isnan(block.seconds(results))]
            block = undrawn[0] if undrawn else min(left, key=lambda block: block.seconds_left(results))
            seed = len(results.seconds(block.key, block.group))
            start = time.process_time()
            values = draws.draw(block.table, block.name, seed, block.columns)
            results.add(block.key, block.group, values, time.process_time() - start)
            results.save()
            minutes = sum(block.seconds_left(results) for block in blocks) / 60
            say(f"Table {block.key}, draw {seed + 1} of {block.n_draws}; {minutes:.0f} minutes left")


def compare(papers, names, results, max_iter, end, say):
    """Measure the papers on maximum margins, as far as their data sets are not in the file."""
    present = [name for name in paper_page.DATA if name in real_data.available()]
    for name in (name for name in present if names is None or name in names):
        for paper in (paper for paper in paper_page.SECTIONS if paper in papers):
            key = f"[{paper}]: {name}"
            # The competitor comes last.
            known = any(row["algorithm"] == "LinearSVC" for row in results.comparisons.get(key, ()))
            if not known and time.monotonic() < end:
                results.comparisons[key] = measured(paper, name, max_iter)
                results.save()
                say(key)


def measured(paper, name, max_iter):
    """Return the rows of both tables of a paper for one data set: list of dict."""
    result = reproduce.reproduce(name, arguments_of(paper, max_iter, 0))
    rows = [stored(row, table) for table in (1, 2) for row in result[f"table_{table}"]]
    if paper == "2":
        updates = updates_of_orders(name, max_iter)
        for row in rows:
            if row["table"] == 1:
                row["updates"] = updates[row["algorithm"]]
    return rows


def updates_of_orders(name, max_iter):
    """Return the updates in Table 1 of [2] in other orders of the samples, by algorithm."""
    updates = {}
    for seed in range(N_ORDERS[name]):
        problem = reproduce.MaximumMargin(name, arguments_of("2", max_iter, seed))
        for row in problem.clean_pass_rows():
            updates.setdefault(row["algorithm"], []).append(row["n_updates"])
    return updates


def arguments_of(paper, max_iter, seed):
    """Return what `reproduce` reads of a command line: argparse.Namespace."""
    options = [paper_page.SECTIONS[paper], "--max-iter", str(max_iter), "--seed", str(seed)]
    return reproduce.command_line().parse_args(options)


def stored(row, table):
    """Return what the file keeps of a row of a table: dict."""
    values = {"table": table, **{key: rounded(row[key]) for key in ROW if key in row}}
    return values | {"paper": {key: rounded(value) for key, value in (row["paper"] or {}).items()}}


def rounded(value):
    """Round floats to some significant digits; what is not finite becomes None."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def main(argv=None):
    """Measure what is missing, and write the page."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--papers", nargs="+", choices=PAPERS, default=PAPERS)
    option("--tables", nargs="+", type=int, choices=TABLES, default=TABLES, help="of paper 4")
    option(
        "--datasets", nargs="+", metavar="NAME", help="by file or paper; all present if none is named"
    )
    option("--draws", type=int, metavar="N", default=math.inf, help="at most, of each block of paper 4")
    option("--minutes", type=float, default=math.inf)
    option("--n-jobs", type=int, default=1, metavar="N", help="threads; -1: all CPUs")
    option("--cache", type=Path, metavar="DIR", help="where parts of a draw are kept")
    option("--max-iter", type=int, default=1000, metavar="N", help="epochs, of papers 1 and 2")
    option("--results", type=Path, default=FILE, metavar="FILE")
    option("--page", action="store_true", help="only write the page")
    arguments = parser.parse_args(argv)
    results = Results(arguments.results)
    tables = arguments.tables if "4" in arguments.papers else ()
    blocks = blocks_of(tables, arguments.datasets, arguments.draws)
    if not arguments.page:
        end, say = time.monotonic() + 60 * arguments.minutes, functools.partial(print, flush=True)
        draw(blocks, results, Draws(arguments.n_jobs, arguments.cache), end, say)
        compare(arguments.papers, arguments.datasets, results, arguments.max_iter, end, say)
    paper_page.write(results, arguments.results.with_suffix(".md"))


if __name__ == "__main__":
    main()
