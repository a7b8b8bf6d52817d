"""Every cell of the papers' tables that the data reach: paper, ours, spread, verdict.

    MARGINS_DATA=folder python scripts/paper_tables.py

draws what docs/papers.json does not hold yet, the cheapest first, and writes that file after every draw:
an interrupted run continues where it was. Then it writes docs/papers.md. --minutes ends it after a draw;
--estimate only says what is left; --page only writes the page.
"""

import argparse
import time
import warnings
from pathlib import Path

import reporting
from noise_tolerance_draws import Draws
from paper_plan import blocks_of
from paper_results import FILE, Results
from sklearn.exceptions import ConvergenceWarning

TABLES = (2, 3, 4, 5, 6, 7)


def command_line():
    """The options: argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", type=int, choices=TABLES, default=TABLES)
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="default: all present")
    parser.add_argument("--draws", type=int, metavar="N", help="of every block (default: as planned)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="default: no limit")
    parser.add_argument("--n-jobs", type=int, default=1, metavar="N", help="threads; -1: all CPUs")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where parts of a draw are kept")
    parser.add_argument(
        "--results", type=Path, default=FILE, metavar="FILE", help="default: %(default)s"
    )
    parser.add_argument("--estimate", action="store_true", help="only say what is left")
    return parser


def draw(blocks, results, draws, minutes, say):
    """Draw what is left of the blocks, the cheapest first; a draw that has begun is finished."""
    end = time.monotonic() + 60 * minutes
    with warnings.catch_warnings():
        # The paper's runs have a fixed number of epochs.
        warnings.simplefilter("ignore", ConvergenceWarning)
        while time.monotonic() < end:
            left = [block for block in blocks if block.seconds_left(results) > 0]
            if not left:
                break
            block = min(left, key=lambda block: block.seconds_left(results))
            seed = len(results.seconds(block.key, block.group))
            start = time.process_time()
            values = draws.draw(block.table, block.name, seed, block.columns)
            results.add(block.key, block.group, values, time.process_time() - start)
            results.save()
            total = sum(each.seconds_left(results) for each in blocks)
            say(f"Table {block.key}, draw {seed + 1} of {block.n_draws}; {total / 60:.0f} minutes left")


def estimate(blocks, results):
    """Processor minutes that are left: str."""
    rows = [
        [
            *(block.key, block.group, str(len(results.seconds(block.key, block.group)))),
            *(str(block.n_draws), f"{block.seconds_left(results) / 60:.1f}"),
        ]
        for block in blocks
    ]
    total = sum(block.seconds_left(results) for block in blocks) / 60
    titles = ["table, data", "columns", "draws", "of", "minutes left"]
    return f"{reporting.table(titles, rows)}\nleft: {total:.0f} processor minutes"


def main(argv=None):
    arguments = command_line().parse_args(argv)
    results = Results(arguments.results)
    blocks = blocks_of(arguments.tables, arguments.datasets, arguments.draws)
    if arguments.estimate:
        print(estimate(blocks, results))
        return
    progress = reporting.Progress(0)
    draw(blocks, results, Draws(arguments.n_jobs, arguments.cache), arguments.minutes, progress.print)


if __name__ == "__main__":
    main()
