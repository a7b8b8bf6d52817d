"""Every cell of the papers' tables that the data reach: paper, ours, spread, verdict.

    MARGINS_DATA=folder python scripts/papers/paper_tables.py

measures what docs/papers.json does not hold yet, first a draw of every block, then the cheapest first,
and writes that file after every draw: an interrupted run continues where it was. Then it writes
docs/papers.md. --minutes ends it after the draw in progress; --estimate only says what is left; --page
only writes the page.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import paper_comparisons
import paper_page
import real_data
import reporting
from noise_tolerance_draws import Draws
from paper_plan import blocks_of
from paper_results import FILE, Results

PAPERS = ("1", "2", "4")
TABLES = (2, 3, 4, 5, 6, 7)


def command_line():
    """The options: argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("--papers", nargs="+", choices=PAPERS, default=PAPERS, help="numbers of docs/algorithms.md")
    option("--tables", nargs="+", type=int, choices=TABLES, default=TABLES, help="of paper 4")
    option("--datasets", nargs="+", metavar="NAME", help="by file or paper (default: all present)")
    option("--draws", type=int, metavar="N", help="at most, of each block of paper 4")
    option("--minutes", type=float, default=float("inf"), help="default: no limit")
    option("--n-jobs", type=int, default=1, metavar="N", help="threads; -1: all CPUs")
    option("--cache", type=Path, metavar="DIR", help="where parts of a draw are kept")
    option("--max-iter", type=int, default=1000, metavar="N", help="epochs, of papers 1 and 2")
    option("--results", type=Path, default=FILE, metavar="FILE", help="default: docs/papers.json")
    option("--estimate", action="store_true", help="only say what is left of paper 4")
    option("--page", action="store_true", help="only write the page")
    return parser


def draw(blocks, results, draws, end, say):
    """Draw what is left of the blocks, those without a draw first; a draw that has begun is finished."""
    with warnings.catch_warnings():
        # The paper's runs have a fixed number of epochs.
        warnings.simplefilter("ignore", ConvergenceWarning)
        while time.monotonic() < end:
            left = [block for block in blocks if block.draws_left(results)]
            if not left:
                break
            block = min(left, key=lambda block: (block.is_begun(results), block.seconds_left(results)))
            seed = len(results.seconds(block.key, block.group))
            start = time.process_time()
            values = draws.draw(block.table, block.name, seed, block.columns)
            results.add(block.key, block.group, values, time.process_time() - start)
            results.save()
            total = sum(each.seconds_left(results) for each in blocks)
            say(f"Table {block.key}, draw {seed + 1} of {block.n_draws}; {total / 60:.0f} minutes left")


def compare(papers, names, results, max_iter, end, say):
    """Measure the papers on maximum margins, as far as their data sets are not in the file."""
    present = [name for name in paper_comparisons.DATA if name in real_data.available()]
    for name in (name for name in present if names is None or name in names):
        for paper in (paper for paper in paper_comparisons.SCRIPTS if paper in papers):
            key = f"[{paper}]: {name}"
            known = paper_comparisons.is_complete(results.comparisons.get(key, ()))
            if not known and time.monotonic() < end:
                results.comparisons[key] = paper_comparisons.measured(paper, name, max_iter)
                results.save()
                say(key)


def estimate(blocks, results):
    """Processor minutes that are left, and those that all blocks take together: str."""
    rows = [
        [
            *(
                block.key,
                str(len(block.columns) or ""),
                str(len(results.seconds(block.key, block.group))),
            ),
            *(str(block.n_draws), f"{block.seconds(results):.1f}"),
            f"{block.seconds_left(results) / 60:.1f}",
        ]
        for block in blocks
    ]
    left = sum(block.seconds_left(results) for block in blocks) / 60
    total = sum(block.n_draws * block.seconds(results) for block in blocks) / 60
    titles = ["table, data", "columns", "draws", "of", "seconds|a draw", "minutes|left"]
    return f"{reporting.table(titles, rows)}\nprocessor minutes: {total:.0f} of all, {left:.0f} left"


def main(argv=None):
    arguments = command_line().parse_args(argv)
    results = Results(arguments.results)
    tables = arguments.tables if "4" in arguments.papers else ()
    blocks = blocks_of(tables, arguments.datasets, arguments.draws)
    if arguments.estimate:
        print(estimate(blocks, results))
        return
    if not arguments.page:
        end, say = time.monotonic() + 60 * arguments.minutes, reporting.Progress(0).print
        draw(blocks, results, Draws(arguments.n_jobs, arguments.cache), end, say)
        compare(arguments.papers, arguments.datasets, results, arguments.max_iter, end, say)
    paper_page.write(results, arguments.results.with_suffix(".md"))


if __name__ == "__main__":
    main()
