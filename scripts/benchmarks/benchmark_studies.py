"""Double cross-validation as one call, against scikit-learn's nested search: seconds in one run.

Ours: `double_cross_validation` of the perceptron with margins over tau x alpha_bound, 49 settings, or
tau alone, 7. Theirs: `cross_validate` of a `GridSearchCV` of `Perceptron` over as many values of alpha.
Both make the same number of fits, 10 x 10 folds and 100 epochs (ours end earlier if an epoch makes no
update; on these data, raw as in Khardon & Wachman (2007), none does), with the same number of threads or
processes. The data are wdbc: from the folder that MARGINS_DATA names or, without it, from scikit-learn.

scikit-learn's n_jobs stands at the outer call, which has fewer and longer tasks than the inner one. Its
processes are started before the clock is.
"""

import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV, cross_validate

import margins
from margins.model_selection import double_cross_validation

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting

ALPHAS = (-6, -2)  # powers of ten
TAU = {"tau": [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0]}
# Grids of Khardon & Wachman, by the number of settings.
GRIDS = {7: TAU, 49: TAU | {"alpha_bound": [math.inf, 80, 60, 40, 20, 10, 5]}}


def data():
    """Return wdbc: X, y and its source."""
    if "wdbc" in real_data.available():
        dataset = real_data.binary("wdbc")
        return dataset.X, dataset.y, "wdbc"
    return *load_breast_cancer(return_X_y=True), "load_breast_cancer"


def ours(X, y, arguments):
    """Return seconds, accuracy, and why the models were not trained in lockstep."""
    pam = margins.get("pam")(max_iter=arguments.epochs)
    options = {"outer": arguments.folds, "inner": arguments.folds, "n_jobs": arguments.n_jobs}
    seconds = []
    for _ in range(arguments.repeats):
        begin = time.perf_counter()
        study = double_cross_validation(
            pam, GRIDS[arguments.settings], X, y, **options, random_state=0, progress=False
        )
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)), study.mean(), study.lockstep_reason


def theirs(X, y, arguments):
    """Return seconds and accuracy of the nested search."""
    grid = {"alpha": np.logspace(*ALPHAS, arguments.settings), "penalty": ["l2"]}
    perceptron = Perceptron(max_iter=arguments.epochs, tol=None)
    Parallel(arguments.n_jobs)(delayed(abs)(number) for number in range(4 * arguments.n_jobs))
    begin = time.perf_counter()
    search = GridSearchCV(perceptron, grid, cv=arguments.folds)
    scores = cross_validate(search, X, y, cv=arguments.folds, n_jobs=arguments.n_jobs)
    return time.perf_counter() - begin, float(np.mean(scores["test_score"]))


def main(argv=None):
    """Print a table, and return its rows with the ratio: dict."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--n-jobs", type=int, default=2, metavar="N")
    option("--folds", type=int, default=10, metavar="N")
    option("--settings", type=int, choices=(7, 49), default=49, help="7: tau alone")
    option("--epochs", type=int, default=100, metavar="N")
    option("--repeats", type=int, default=1, metavar="N", help="our runs; the median counts")
    option("--quick", action="store_true", help="3 x 3 folds, 5 epochs: to see that it runs")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        arguments.folds, arguments.epochs = 3, 5
    X, y, name = data()
    settings = arguments.settings
    n_fits = settings * arguments.folds**2 + arguments.folds
    reporting.print_environment()
    folds = f"{arguments.folds} x {arguments.folds} folds"
    print(
        f"{name}: {X.shape[0]} x {X.shape[1]}; {settings} settings, {folds}, {arguments.epochs} epochs, "
        f"n_jobs = {arguments.n_jobs}\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        *own, reason = ours(X, y, arguments)
        sides = {"margins": own, "scikit-learn": theirs(X, y, arguments)}
    rows = [
        {"name": side, "seconds": seconds, "accuracy": accuracy}
        | {"n_fits": n_fits, "fits_per_second": n_fits / seconds}
        for side, (seconds, accuracy) in sides.items()
    ]
    ratio = rows[1]["seconds"] / rows[0]["seconds"]
    reporting.print_rows(rows)
    print(f"\nlockstep: {reason or 'yes'}")
    print(f"ratio: {ratio:.1f} (scikit-learn's seconds in units of ours)")
    report = {"data": name, "rows": rows, "ratio": ratio, "lockstep": reason is None}
    reporting.write_json(arguments, **report)
    return report


if __name__ == "__main__":
    reporting.in_both_environments(main)
