"""Successive halving against a search of the whole grid: processor seconds in one run.

The same `parameter_search`, with a grid and with `Halving` of it, on the data set that `--data` names,
from the folder that MARGINS_DATA names: linear classifiers over C, loss and class weights, or those with
an RBF kernel over C and gamma. Printed are the seconds, the settings of each round with the samples of
its training sets, the setting that is chosen and its mean accuracy.
"""

import sys
from pathlib import Path

import numpy as np

import margins
from margins.model_selection import Halving, parameter_search

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting

GRIDS = {
    "linear": {
        "C": np.geomspace(1e-3, 10, 9).tolist(),
        "loss": ["hinge", "squared_hinge"],
        "class_weight": [None, "balanced"],
    },
    "rbf": {"C": np.geomspace(0.03, 100, 5).tolist(), "gamma": np.geomspace(1e-3, 1, 5).tolist()},
}
TITLES = ("", "seconds", "rounds", "accuracy", "chosen")


def row(name, grid, X, y, arguments):
    """Search a grid, and return a row of the table: list of str."""
    classifier = margins.MarginClassifier(kernel=arguments.kernel, random_state=0)
    options = {"cv": arguments.folds, "random_state": 0, "n_jobs": 1, "progress": False}
    study, seconds = reporting.timed(lambda: parameter_search(classifier, grid, X, y, **options))
    rounds = [f"{len(table.settings)} x {len(table.splits[0][0])}" for table in study.tables]
    chosen = " ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in study.best_params.items()
    )
    return [name, f"{seconds:.2f}", ", ".join(rounds), f"{study.mean():.4f}", chosen]


def main(argv=None):
    """Run both searches, and print a table."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--data", default="a9a", metavar="NAME")
    option("--rows", type=int, metavar="N", help="the first N alone, else all")
    option("--kernel", choices=GRIDS, default="linear")
    option("--factor", type=int, default=3, metavar="N")
    option("--folds", type=int, default=5, metavar="N")
    arguments = parser.parse_args(argv)
    data = real_data.load(arguments.data)
    X, y = data.X[: arguments.rows], data.y[: arguments.rows]
    grid = GRIDS[arguments.kernel]
    rows = [
        row("whole grid", grid, X, y, arguments),
        row("halving", Halving(grid, arguments.factor), X, y, arguments),
    ]
    print(reporting.table(TITLES, rows))


if __name__ == "__main__":
    reporting.in_both_environments(main)
