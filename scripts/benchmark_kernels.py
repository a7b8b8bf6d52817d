"""Kernel fits against scikit-learn's SVC: processor seconds of both sides in one run.

    MARGINS_DATA=... python scripts/benchmark_kernels.py [--quick] [--data usps a9a] [--rows 8000]

Each data set, a random part of at most `--rows` rows with every feature divided by its largest value if
a value exceeds 10, is fitted with the hinge loss and an RBF kernel, for every C, and gamma "scale" and
five times that. Ours proves the relative duality gap, certificate included; SVC runs at its default tol,
with the faster of dense and sparse input. Both have a cache that holds all rows, and one thread; of each
side the fastest of `--repeats` fits counts. The problems differ in the intercept, which SVC does not
penalise.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import real_data
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import margins

RAW = 10.0
CACHE = 4000.0  # megabytes


def problem_of(name, n_rows, seed):
    """X as CSR matrix of float64, and labels: of a real data set, or of the digits by parity."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X, y = X / 16, y % 2
    else:
        X, y = real_data.binary(name)[1:3]
    rows = np.random.default_rng(seed).permutation(X.shape[0])[:n_rows]
    X = sparse.csr_matrix(X, dtype=np.float64)[rows]
    largest = np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-300)
    return (sparse.csr_matrix(X.multiply(1 / largest)) if largest.max() > RAW else X), np.asarray(y)[
        rows
    ]


def seconds_of(make, X, y, repeats):
    """The least processor seconds of some fits, and the last classifier."""
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        classifier = make().fit(X, y)
        best = min(best, time.process_time() - begin)
    return best, classifier


def compare(name, arguments):
    """One row for every C and gamma: yields dict."""
    X, y = problem_of(name, arguments.rows, arguments.seed)
    dense = X.toarray()
    inputs = [dense, X] if X.nnz < 0.5 * dense.size else [dense]
    scale = 1 / (X.shape[1] * dense.var())
    for C in arguments.C:
        for factor in arguments.gamma:
            kernel = {"C": C, "gamma": factor * scale, "cache_size": CACHE}
            theirs = [seconds_of(lambda: SVC(**kernel), each, y, arguments.repeats) for each in inputs]  # noqa: B023
            row = {"data": name, "rows": len(y), "C": C, "gamma": factor}
            row["SVC"] = min(seconds for seconds, _ in theirs)
            for eps in arguments.eps:

                def ours(eps=eps, kernel=kernel):
                    return margins.MarginClassifier(loss="hinge", kernel="rbf", eps=eps, **kernel)

                seconds, classifier = seconds_of(ours, inputs[-1], y, arguments.repeats)
                row[f"{eps:g}"] = seconds / row["SVC"]
                row[f"gap {eps:g}"] = classifier.certificates_[0].gap
            row["support"] = len(classifier.support_)
            yield row


def command_line():
    """The options: argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", metavar="NAME", help="default: usps a9a w8a, and digits")
    parser.add_argument("--rows", type=int, default=8000, metavar="N", help="default: %(default)s")
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0, 100.0], metavar="C")
    parser.add_argument("--gamma", type=float, nargs="+", default=[1.0, 5.0], help="times 'scale'")
    parser.add_argument("--eps", type=float, nargs="+", default=[1e-3, 1e-5], help="gaps to prove")
    parser.add_argument("--repeats", type=int, default=2, metavar="N", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="300 rows of the digits")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    return parser


def main(argv=None):
    """Print a line for every fit, and the medians: list of dict."""
    arguments = command_line().parse_args(argv)
    if arguments.quick:
        arguments.data, arguments.rows, arguments.repeats = ["digits"], 300, 1
    names = arguments.data or [n for n in ("usps", "a9a", "w8a") if n in real_data.available()]
    rows = []
    print("Seconds of SVC, and ours over them at each proven gap.")
    print("data, rows, C, gamma / scale, SVC, " + ", ".join(f"{eps:g}" for eps in arguments.eps))
    with threadpool_limits(1):
        for name in names or ["digits"]:
            for row in compare(name, arguments):
                rows.append(row)
                ratios = ", ".join(f"{row[f'{eps:g}']:.2f}" for eps in arguments.eps)
                setting = f"{name}, {row['rows']}, {row['C']:g}, {row['gamma']:g}"
                print(f"{setting}, {row['SVC']:.3f}, {ratios}", flush=True)
    for eps in arguments.eps:
        ratios = [row[f"{eps:g}"] for row in rows]
        print(f"gap {eps:g}: median {np.median(ratios):.2f}, largest {max(ratios):.2f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows


if __name__ == "__main__":
    main()
