"""Leave-one-out in one call, against as many fits as there are samples: processor seconds.

Ours is `leave_one_out`. Its ratio is that to a fit of `MarginClassifier` to all samples but one, as it
comes, times n; and, of linear models with the squared hinge loss, to that of `LinearSVC` with the least
power of ten times its `max_iter` that suffices. The fits are timed for a few samples left out, in turn
with `leave_one_out`: their median, and the least seconds of ours. Shares are those of samples.

Data are those of the folder that MARGINS_DATA names, two classes, features divided by their largest
value, at most `--rows` samples drawn from them; and breast tumours from scikit-learn.

    MARGINS_DATA=... python scripts/benchmarks/benchmark_leave_one_out.py
"""

import itertools
import sys
import warnings
from pathlib import Path
from statistics import median
from unittest import mock

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import margins
from margins.decremental.left_out import MarginBounds

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting

TUMOURS = "breast_cancer"
NAMES = (TUMOURS, "australian", "splice", "madelon", "satimage", "spambase", "a9a", "pcmac",
         "gravier", "singh", "arcene")  # fmt: skip
KERNELS = ("linear", "rbf")
CS = (0.01, 1.0, 100.0)
LOSSES = ("squared_hinge", "hinge")
N_FITS = 5
MAX_ITER = 10**6


def data_of(name, n_rows):
    """Return X and y of a data set, with a maximum number of samples."""
    if name == TUMOURS:
        X, y = load_breast_cancer(return_X_y=True)
    else:
        dataset = real_data.binary(name)
        X, y = dataset.X, dataset.y
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X[rows], y[rows]
    largest = abs(X).max(axis=0)
    largest = np.maximum(largest.toarray() if sparse.issparse(X) else largest, 1e-12)
    return sparse.csr_matrix(X.multiply(1 / largest)) if sparse.issparse(X) else X / largest, y


def peer_for(X, y, C):
    """Return a LinearSVC that converges; None if it does with no `max_iter` up to the largest."""
    max_iter = 1000
    while max_iter <= MAX_ITER:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier = LinearSVC(C=C, max_iter=max_iter, random_state=0).fit(X, y)
        if not any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
            return classifier
        max_iter *= 10
    return None


def measure(name, X, y, kernel, loss, C, repeats):
    """Measure a row of the table: dict."""
    classifier = margins.MarginClassifier(C=C, loss=loss, kernel=kernel, gamma="scale")
    peer = peer_for(X, y, C) if (kernel, loss) == ("linear", "squared_hinge") else None
    seconds, fits, peers = [], [], []
    n_groups = {}  # number of groups that needed a step, or a path

    def counted(method):
        def call(self, groups):
            n_groups[method.__name__] = len(groups)
            return method(self, groups)

        return call

    with (
        mock.patch.object(MarginBounds, "step", counted(MarginBounds.step)),
        mock.patch.object(MarginBounds, "follow", counted(MarginBounds.follow)),
    ):
        for turn in range(repeats):
            result, taken = reporting.timed(lambda: margins.leave_one_out(classifier, X, y))
            seconds.append(taken)
            for number in range(turn, turn + N_FITS):
                others = np.arange(len(y)) != number % len(y)
                part = X[others], y[others]
                fits.append(reporting.timed(lambda part=part: classifier.fit(*part))[1])
                if peer is not None:
                    peers.append(reporting.timed(lambda part=part: peer.fit(*part))[1])
    n, n_steps, n_paths = len(y), n_groups["step"], n_groups["follow"]
    row = {
        "name": name,
        "n_samples": n,
        "n_features": X.shape[1],
        "kernel": kernel,
        "loss": loss,
        "C": C,
        "seconds": min(seconds),
        "seconds of n fits": n * median(fits),
        "seconds of n LinearSVC": n * median(peers) if peers else None,
        "no work": 1 - n_steps / n,
        "one step": (n_steps - n_paths) / n,
        "paths": (n_paths - result.n_refits) / n,
        "refits": result.n_refits / n,
        "n_refits": result.n_refits,
        "unproven": int(np.sum(~result.is_proven)),
        "error": result.error,
    }
    row["ratio"] = row["seconds"] / row["seconds of n fits"]
    row["ratio to LinearSVC"] = row["seconds"] / row["seconds of n LinearSVC"] if peers else None
    return row


def main(argv=None):
    """Print a row for every problem, and a summary: list of dict."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    option("--rows", type=int, default=2000, metavar="N")
    option("--kernels", nargs="+", choices=KERNELS, default=KERNELS)
    option("--C", nargs="+", type=float, default=CS, metavar="C")
    option("--repeats", type=int, default=2, metavar="N")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    arguments = parser.parse_args(argv)
    reporting.print_environment()
    names, missing = reporting.present(parser, arguments.names, NAMES, {TUMOURS})
    measure(TUMOURS, *data_of(TUMOURS, 60), "linear", "hinge", 1.0, 1)  # to load what a first call loads
    rows = reporting.print_rows(
        measure(name, *data_of(name, arguments.rows), kernel, loss, C, arguments.repeats)
        for name, kernel, loss, C in itertools.product(names, arguments.kernels, LOSSES, arguments.C)
    )
    for kernel in arguments.kernels:
        of_kernel = [row for row in rows if row["kernel"] == kernel]
        shares = ", ".join(
            f"{key} {np.mean([row[key] for row in of_kernel]):.4f}"
            for key in ("no work", "one step", "paths", "refits")
        )
        ratios = [row["ratio"] for row in of_kernel]
        print(f"\n{kernel}: ratio {median(ratios):.3f} (median), {max(ratios):.3f} (largest); {shares}")
    if missing:
        print(f"\nNot in the folder that MARGINS_DATA names: {', '.join(missing)}")
    reporting.write_json(arguments, rows=rows)
    return rows


if __name__ == "__main__":
    reporting.in_both_environments(main)
