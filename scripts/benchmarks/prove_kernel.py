"""A proof for a large kernel problem: all 581,012 rows of Covertype with an RBF kernel.

    MARGINS_DATA=... python scripts/benchmarks/prove_kernel.py [--rows 20000] [--check]

The problem of SVC with gamma "scale", every feature divided by its largest value. Prints the fit's
certificate, its seconds and the peak memory of the process. With `--check` also the gap that NumPy finds
from the dual variables and the intercept alone, in double precision: one more pass over the values of
the kernel between all samples and the support vectors.
"""

import sys
from pathlib import Path

import numpy as np
from benchmark_kernels import problem_of, variance
from measuring import resident_bytes, seconds_of

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

TILE = 512  # samples and support vectors whose kernel values NumPy holds at once
GIGABYTE = 2**30


def gap_by_numpy(classifier, X, y):
    """Return the duality gap, relative to the dual value, and the sum of the dual variables."""
    signs = np.where(y == classifier.classes_[1], 1.0, -1.0)
    support, dual = classifier.support_, classifier.dual_coef_[0]
    squares, scores = np.einsum("ij,ij->i", X, X), np.zeros(len(y))
    for first in range(0, len(support), TILE):
        few = support[first : first + TILE]
        vectors = 2 * X[few].T
        for begin in range(0, len(y), TILE):
            part = slice(begin, begin + TILE)
            values = X[part] @ vectors
            values -= squares[part, None]
            values -= squares[few]
            values *= classifier.gamma
            scores[part] += np.exp(values, out=values) @ dual[first : first + TILE]
    sqnorm = dual @ scores[support]
    errors = np.maximum(1 - signs * (scores + classifier.intercept_), 0).sum()
    value = np.abs(dual).sum() - sqnorm / 2
    if not ((dual * signs[support]).min() >= 0 and np.abs(dual).max() <= classifier.C):
        raise AssertionError("dual variables are not between 0 and C")
    return (sqnorm / 2 + classifier.C * errors) / value - 1, dual.sum()


def main(argv=None):
    """Fit, and print what is proven and what it took."""
    option = (parser := reporting.parser_of(__doc__)).add_argument
    option("--data", default="covtype", metavar="NAME")
    option("--rows", type=int, default=0, metavar="N", help="0: all")
    option("--C", type=float, default=1.0)
    option("--eps", type=float, default=1e-2, help="gap to prove")
    option("--cache", type=float, default=8000.0, metavar="MB", help="for kernel values")
    option("--threads", type=int, default=1, metavar="N")
    option("--check", action="store_true", help="also the gap by NumPy")
    arguments = parser.parse_args(argv)
    X, y = problem_of(arguments.data, arguments.rows, seed=0)
    gamma = 1 / (X.shape[1] * variance(X))
    classifier = margins.MarginClassifier(
        loss="hinge", kernel="rbf", gamma=gamma, C=arguments.C, penalize_intercept=False,
        eps=arguments.eps, cache_size=arguments.cache, n_jobs=arguments.threads,
    )  # fmt: skip
    wall, processor, classifier = seconds_of(lambda: classifier.fit(X, y))
    memory = resident_bytes("VmHWM") / GIGABYTE
    print(f"{X.shape[0]} x {X.shape[1]}, gamma={gamma:.6g}, {len(classifier.support_)} support vectors")
    print(classifier.certificates_[0])
    print(f"{wall:.0f} s, {processor:.0f} processor s, {memory:.2f} GiB", flush=True)
    if arguments.check:
        wall, _, (gap, total) = seconds_of(lambda: gap_by_numpy(classifier, X.toarray(), y))
        print(f"by NumPy: gap {gap:.3g}, sum of the dual variables {total:.3g} ({wall:.0f} s)")
    return classifier


if __name__ == "__main__":
    sys.exit(0 if main().converged_ else 1)
