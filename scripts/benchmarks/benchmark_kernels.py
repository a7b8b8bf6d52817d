"""Kernel fits against scikit-learn's SVC: processor seconds of both sides in one run.

    MARGINS_DATA=... python scripts/benchmarks/benchmark_kernels.py [--quick] [--data usps] [--rows 8000]

Each data set, a random part of at most `--rows` rows (0: all) with every feature divided by its largest
value if a value exceeds 10, is fitted with the hinge loss and an RBF kernel, for every C, and gamma
"scale" and five times that. Both sides solve the same problem, whose intercept is not penalised. Ours
proves the relative duality gap, certificate included; SVC runs at its default tol, with the faster of
dense and sparse input. Both have the same cache, and one thread; of each side the fastest of `--repeats`
fits counts.

Also: the gap of SVC's solution, computed from its dual variables; seconds of our decision_function on
the training samples relative to SVC; and the peak memory of a fit in addition to X and its cache. With
`--peers` also our seconds at the first gap relative to kernel classifiers of other packages that
are installed (`peers.KERNEL_PEERS`), at the largest tolerance that reaches that gap, with the faster of
dense and sparse input.
With `--threads 2` also the time of our fits by the clock with one thread over that with two, which needs
processors that are free.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import margins
from margins.losses import Hinge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import measuring
import peers
import real_data
import reporting

RAW = 10.0
DATA = ("usps", "a9a", "w8a", "mnist", "covtype", "shuttle", "satimage", "spambase")
MEGABYTE = 2**20
DENSE = 2000  # megabytes at most that X may take as a dense array
# No further fits of a peer after a fit that takes this many times as long as ours.
PATIENCE = 50
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


def problem_of(name, n_rows, seed):
    """Return X, CSR of float64, and labels of a real data set, or of the digits by parity."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X, y = X / 16, y % 2
    else:
        X, y = real_data.binary(name)[1:3]
    rows = np.random.default_rng(seed).permutation(X.shape[0])[: n_rows or None]
    X = sparse.csr_matrix(X, dtype=np.float64)[rows]
    largest = np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-300)
    X = sparse.csr_matrix(X.multiply(1 / largest)) if largest.max() > RAW else X
    return X, np.asarray(y)[rows]


def memory_of(make, X, y, cache):
    """Return a fit's peak memory without X and its cache, in megabytes; None if it is unknown."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak before the fit
    except OSError:
        return None
    before = measuring.resident_bytes("VmRSS")
    make().fit(X, y)
    cache = min(cache, 4 * len(y) ** 2 / MEGABYTE)
    return (measuring.resident_bytes("VmHWM") - before) / MEGABYTE - cache


def gap_of(svc, X, y, gamma):
    """Return the relative duality gap of an SVC, with the best intercept for its scores.

    From its dual variables alone: not every class here predicts every input.
    """
    signs = np.where(y == y.max(), 1.0, -1.0)
    dual, support = svc.dual_coef_[0], np.asarray(svc.support_, dtype=int)
    dual = dual.toarray()[0] if sparse.issparse(dual) else np.array(dual, dtype=float)
    if dual @ signs[support] < 0:  # its first class is the positive one
        dual = -dual
    scores = rbf_kernel(X, X[support], gamma) @ dual
    sqnorm = float(dual @ scores[support])
    loss = Hinge(svc.C)
    primal = 0.5 * sqnorm + loss.value(signs * (scores + loss.best_intercept(scores, signs)))
    return primal / (np.abs(dual).sum() - 0.5 * sqnorm) - 1


def least_time(make, X, y, repeats):
    """Return the last classifier of several fits, and the least processor seconds of one."""
    return reporting.least_time(lambda: make().fit(X, y), repeats)


def compare(name, arguments):
    """Yield one row for every C and gamma: dict."""
    X, y = problem_of(name, arguments.rows, arguments.seed)
    dense = X.toarray() if X.shape[0] * X.shape[1] * 8 <= DENSE * MEGABYTE else None
    inputs = [X] if dense is None else [dense, X] if X.nnz < 0.5 * dense.size else [dense]
    scale = 1 / (X.shape[1] * variance(X))
    for C in arguments.C:
        for factor in arguments.gamma:
            kernel = {"C": C, "gamma": factor * scale, "cache_size": arguments.cache}
            theirs = [
                (*least_time(lambda: SVC(**kernel), stored, y, arguments.repeats), stored)  # noqa: B023
                for stored in inputs
            ]
            row = {"data": name, "rows": len(y), "C": C, "gamma": factor}
            svc, row["SVC"], best_input = min(theirs, key=lambda side: side[1])
            row["gap SVC"] = gap_of(svc, best_input, y, kernel["gamma"])
            for eps in arguments.eps:

                def ours(eps=eps, kernel=kernel):
                    params = {"loss": "hinge", "kernel": "rbf", "eps": eps, "penalize_intercept": False}
                    return margins.MarginClassifier(**params, **kernel)

                classifier, seconds = least_time(ours, inputs[-1], y, arguments.repeats)
                row[f"{eps:g}"] = seconds / row["SVC"]
                row[f"gap {eps:g}"] = classifier.certificates_[0].gap
            row["support"] = len(classifier.support_)
            for peer, kind in arguments.peer_classes.items():
                seconds = row[f"{arguments.eps[0]:g}"] * row["SVC"]
                theirs = peer_seconds(kind, kernel, inputs, y, arguments, most=PATIENCE * seconds)
                row[peer] = seconds / theirs
            _, row["SVC predicts"] = reporting.timed(lambda: svc.decision_function(best_input))  # noqa: B023
            _, seconds = reporting.timed(lambda: classifier.decision_function(inputs[-1]))  # noqa: B023
            row["predict"] = seconds / row["SVC predicts"]
            row["memory"] = memory_of(ours, inputs[-1], y, arguments.cache)
            if arguments.threads > 1:
                row["speedup"] = speedup_of(ours, inputs[-1], y, arguments.threads, arguments.repeats)
            yield row


def peer_seconds(kind, kernel, inputs, y, arguments, most=np.inf):
    """Return the smallest time in which a class reaches the first gap, with any input, or inf.

    A tolerance is no longer lowered after a fit of more than `most` seconds.
    """
    best = np.inf
    for X in inputs:
        for tol in TOLERANCES:
            make = lambda tol=tol: kind(kernel="rbf", tol=tol, **kernel)  # noqa: E731
            try:
                classifier, seconds = least_time(make, X, y, arguments.repeats)
            except (TypeError, ValueError):  # this input is not allowed
                break
            if gap_of(classifier, X, y, kernel["gamma"]) <= arguments.eps[0]:
                best = min(best, seconds)
                break
            if seconds > most:
                break
    return best


def speedup_of(make, X, y, n_threads, repeats):
    """Return the smallest wall-clock time of fits with one thread divided by that with several."""
    times = {1: [], n_threads: []}
    for _ in range(repeats):
        for n_jobs, seconds in times.items():
            begin = time.perf_counter()
            make().set_params(n_jobs=n_jobs).fit(X, y)
            seconds.append(time.perf_counter() - begin)
    return min(times[1]) / min(times[n_threads])


def variance(X):
    """Return the variance of all elements of a CSR matrix."""
    mean = X.sum() / np.prod(X.shape)
    return X.multiply(X).sum() / np.prod(X.shape) - mean * mean


def command_line():
    """Return the parser of the options."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--data", nargs="+", metavar="NAME", help=f"otherwise {' '.join(DATA)}")
    option("--rows", type=int, default=8000, metavar="N", help="0: all")
    option("--cache", type=float, default=1000.0, metavar="MB")
    option("--C", type=float, nargs="+", default=[1.0, 10.0, 100.0], metavar="C")
    option("--gamma", type=float, nargs="+", default=[1.0, 5.0], help="times 'scale'")
    option("--eps", type=float, nargs="+", default=[1e-3, 1e-5], help="gaps to prove")
    option("--repeats", type=int, default=2, metavar="N")
    option("--threads", type=int, default=1, metavar="N", help="also fits by N threads")
    option("--peers", action="store_true", help="also other packages, if installed")
    option("--seed", type=int, default=0, metavar="N")
    option("--quick", action="store_true", help="300 rows of the digits")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    return parser


def main(argv=None):
    """Print a line for every fit, and the medians: list of dict."""
    arguments = command_line().parse_args(argv)
    if arguments.quick:
        arguments.data, arguments.rows, arguments.repeats = ["digits"], 300, 1
    arguments.peer_classes, missing = peers.installed_kernel_peers() if arguments.peers else ({}, {})
    for name, why in missing.items():
        print(f"{name} is left out: {why}")
    names = arguments.data or [name for name in DATA if name in real_data.available()]
    print("Seconds of SVC and the gap it has reached, ours over them at each proven gap, seconds of")
    print("predictions over those of SVC, megabytes beside X and the cache, and the gain by threads.")
    rows = reporting.print_rows(row for name in names or ["digits"] for row in compare(name, arguments))
    for what in [*map("{:g}".format, arguments.eps), "predict", *arguments.peer_classes]:
        ratios = [row[what] for row in rows]
        print(f"{what}: median {np.median(ratios):.2f}, largest {max(ratios):.2f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows


if __name__ == "__main__":
    reporting.in_both_environments(main)
