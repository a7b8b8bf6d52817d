"""Selection of C by cross-validation in one call, against scikit-learn's grid search: processor seconds.

Ours: `MarginClassifierCV`, folds along their paths, every fit with a separate proof. Theirs:
`GridSearchCV` of `LinearSVC`, as both come. Same data, folds, values of C and metric, one thread, and
the final fit to all samples included. Each side runs in turn, and its median counts.

The data are in the folder that MARGINS_DATA names, or generated windows of a time series: 22
features, the first ten the position in a cycle, the others successive values of a correlated signal, one
sample in ten positive. Data of many classes have fewer values of C and folds, since a fit of
`LinearSVC` to one of them takes up to half a minute.
"""

import sys
import warnings
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting

EPS = 1e-3


class Case(NamedTuple):
    """Data, values of C and folds of a row of the table."""

    name: str
    ends: tuple  # powers of ten
    n_cs: int
    n_folds: int


CASES = (
    Case("a9a", (-4, 4), 10, 5),
    Case("windows", (-4, 4), 10, 5),
    Case("w8a", (-4, 4), 10, 5),
    Case("sector", (-3, 3), 7, 2),
    Case("news20", (-3, 0), 4, 3),
)
TWO_CLASSES = ("a9a", "w8a")


def make_windows(n_samples=50_000, correlation=0.98, random_state=0):
    """Return windows of a time series: X, CSR of shape (n_samples, 22), and y."""
    rng = np.random.default_rng(random_state)
    X = np.zeros((n_samples, 22))
    X[np.arange(n_samples), np.arange(n_samples) % 10] = 1
    noise = rng.normal(size=n_samples + 11)
    signal = lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], noise)
    for lag in range(12):
        X[:, 10 + lag] = np.clip(0.35 * signal[lag : lag + n_samples], -1, 1)
    weights = rng.normal(size=22)
    weights[:10] *= 0.6
    scores = X @ weights + 1.2 * X[:, 10] * X[:, 14] + 0.3 * rng.normal(size=n_samples)
    return sparse.csr_matrix(X), np.where(scores > np.quantile(scores, 0.903), 1, -1)


def data_of(name, quick):
    """Return X and y of a case."""
    if name == "windows":
        return make_windows(1000 if quick else 50_000)
    dataset = (real_data.binary if name in TWO_CLASSES else real_data.load)(name)
    return dataset.X, dataset.y


def measure(case, repeats, quick=False):
    """Measure a row of the table: dict."""
    X, y = data_of(case.name, quick)
    Cs = np.logspace(*case.ends, case.n_cs)
    ours = margins.MarginClassifierCV(Cs=Cs, cv=case.n_folds, eps=EPS, random_state=0)
    theirs = GridSearchCV(LinearSVC(random_state=0), {"C": Cs}, cv=case.n_folds)
    seconds = {"margins": [], "scikit-learn": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if repeats > 1:
            ours.fit(X, y)  # to load what a first fit loads
        for _ in range(repeats):
            _, taken = reporting.timed(lambda: ours.fit(X, y))
            seconds["margins"].append(taken)
            _, taken = reporting.timed(lambda: theirs.fit(X, y))
            seconds["scikit-learn"].append(taken)
    fits = [problem for fold in ours.fold_fits_ for fits in fold for problem in fits]
    row = {
        "name": case.name,
        "n_samples": X.shape[0],
        "n_features": X.shape[1],
        "n_classes": len(ours.classes_),
        "n_cs": case.n_cs,
        "n_folds": case.n_folds,
        "margins": median(seconds["margins"]),
        "scikit-learn": median(seconds["scikit-learn"]),
        "score": float(ours.scores_.mean(axis=0).max()),
        "score of scikit-learn": float(theirs.best_score_),
        "C": ours.C_,
        "C of scikit-learn": float(theirs.best_params_["C"]),
        "largest gap": max(problem.certificate.gap for problem in fits),
        "unproven": sum(not problem.converged for problem in fits),
    }
    return row | {"ratio": row["scikit-learn"] / row["margins"]}


def main(argv=None):
    """Print a table, and return its rows: dict."""
    parser = reporting.parser_of(__doc__)
    option, known = parser.add_argument, {case.name: case for case in CASES}
    option("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    option("--repeats", type=int, default=3, metavar="N")
    option("--quick", action="store_true", help="windows alone, of 1000 samples: to see that it runs")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    arguments = parser.parse_args(argv)
    reporting.print_environment()
    names, missing = reporting.present(parser, arguments.names, known, {"windows"})
    names = ["windows"] if arguments.quick else names
    rows = reporting.print_rows(
        measure(
            known[name], arguments.repeats if name in ("windows", *TWO_CLASSES) else 1, arguments.quick
        )
        for name in names
    )
    for name in missing:
        print(f"{name}: not in the folder that MARGINS_DATA names")
    reporting.write_json(arguments, eps=EPS, rows=rows)
    return {"eps": EPS, "rows": rows}


if __name__ == "__main__":
    reporting.in_both_environments(main)
