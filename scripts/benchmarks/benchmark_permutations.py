"""Permutation tests with more features than samples: processor seconds in one run.

`permutation_test` of MarginClassifier against one cross-validation of it, and against scikit-learn's
`permutation_test_score` of LinearSVC, whose time for a few permutations is scaled to all. The data are
normal noise with two classes. The environment decides the number of threads of BLAS.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score, permutation_test_score
from sklearn.svm import LinearSVC

import margins
from margins.model_selection import permutation_test

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import measuring
import reporting

TITLES = ("", "processor seconds", "wall seconds", "relative to one cross-validation")


def seconds_of(function):
    """Return the processor and the wall-clock seconds of a call."""
    wall, processor, _ = measuring.seconds_of(function)
    return np.array([processor, wall])


def main(argv=None):
    """Time all sides, and print a table."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--rows", type=int, default=100, metavar="N")
    option("--features", type=int, default=50_000, metavar="N")
    option("--permutations", type=int, default=1000, metavar="N")
    option(
        "--timed", type=int, default=20, metavar="N", help="permutations of scikit-learn that are timed"
    )
    option("--jobs", type=int, metavar="N")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rng, n_permutations = np.random.default_rng(0), arguments.permutations
    X, y = rng.standard_normal((arguments.rows, arguments.features)), np.arange(arguments.rows) % 2
    ours, theirs, cv = margins.MarginClassifier(), LinearSVC(), StratifiedKFold(5)
    cross_val_score(ours, X, y, cv=cv)  # imports
    one = seconds_of(lambda: cross_val_score(ours, X, y, cv=cv))
    options = {"n_permutations": n_permutations, "n_jobs": arguments.jobs, "random_state": 0}
    whole = seconds_of(lambda: permutation_test(ours, X, y, progress=False, **options))
    again = seconds_of(lambda: cross_val_score(ours, X, y, cv=cv))
    first = seconds_of(lambda: permutation_test_score(theirs, X, y, cv=cv, n_permutations=1))
    more = {"cv": cv, "n_permutations": 1 + arguments.timed}
    scaled = seconds_of(lambda: permutation_test_score(theirs, X, y, **more)) - first
    scaled *= n_permutations / arguments.timed
    one = (one + again) / 2
    rows = [
        [name, *(f"{value:.2f}" for value in seconds), f"{seconds[0] / one[0]:.2f}"]
        for name, seconds in (
            ("one cross-validation", one),
            ("permutation_test", whole),
            ("permutation_test_score", scaled),
        )
    ]
    print(reporting.table(TITLES, rows))
    print(f"permutation_test takes {whole[0] / scaled[0]:.4f} of permutation_test_score's time")


if __name__ == "__main__":
    reporting.in_both_environments(main)
