"""Selection of C by cross-validation in one call, against scikit-learn's grid search: processor seconds.

Ours: `MarginClassifierCV`, folds along their paths, every fit with a separate proof. Theirs:
`GridSearchCV` of `LinearSVC`, as both come. Same data, folds, values of C and metric, one thread, and
the final fit to all samples included. Each side runs in turn, and its median counts.

The data are in the folder that MARGINS_DATA names, or generated windows of a time series: 22
features, the first ten the position in a cycle, the others successive values of a correlated signal, one
sample in ten positive. Data of many classes have fewer values of C and folds, since a fit of
`LinearSVC` to one of them takes up to half a minute.
"""

import argparse
import json
import sys
import time
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
TITLES = ("", "samples", "features", "classes", "C", "folds", "margins", "GridSearchCV", "ratio",
          "score", "its", "gap")  # fmt: skip


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


def timed(fit):
    """Return the result of `fit`, and its processor seconds."""
    begin = time.process_time()
    result = fit()
    return result, time.process_time() - begin


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
            _, taken = timed(lambda: ours.fit(X, y))
            seconds["margins"].append(taken)
            _, taken = timed(lambda: theirs.fit(X, y))
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


def command_line():
    """Return the parser of the options: argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [case.name for case in CASES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--quick", action="store_true", help="windows alone, of 1000 samples: to see that it runs"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    return parser


def main(argv=None):
    parser = command_line()
    arguments = parser.parse_args(argv)
    known = {case.name: case for case in CASES}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"names must be of {', '.join(known)}. Got {unknown[0]}.")
    available = {"windows", *real_data.available()}
    names = ["windows"] if arguments.quick else arguments.names or [*known]
    print(", ".join(f"{key} {value}" for key, value in reporting.environment().items()) + "\n")
    rows = []
    for name in names:
        if name in available:
            many = known[name].name not in ("windows", *TWO_CLASSES)
            repeats = 1 if many else arguments.repeats
            rows.append(measure(known[name], repeats, arguments.quick))
        else:
            print(f"{name}: not in the folder that MARGINS_DATA names")
    lines = [
        [
            row["name"],
            str(row["n_samples"]),
            str(row["n_features"]),
            str(row["n_classes"]),
            str(row["n_cs"]),
            str(row["n_folds"]),
            reporting.number(row["margins"], 3),
            reporting.number(row["scikit-learn"], 3),
            f"{row['ratio']:.1f}",
            f"{row['score']:.4f}",
            f"{row['score of scikit-learn']:.4f}",
            f"{row['largest gap']:.2g}",
        ]
        for row in rows
    ]
    print(reporting.table(TITLES, lines))
    report = {"eps": EPS, "rows": rows}
    if arguments.json:
        report["environment"] = reporting.environment()
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    return report


if __name__ == "__main__":
    main()
