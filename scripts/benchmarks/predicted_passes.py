"""Passes that the solvers of MarginClassifier need, and the predictions of `explain` fitted to them.

    MARGINS_DATA=... python scripts/benchmarks/predicted_passes.py [--limit 20] [NAME ...]

Fits each data set by each solver, with both losses, C = 0.01, 1, 100 and gaps 1e-1 to 1e-4, and prints
accesses of a sample per sample; decomposition on 4,000 rows, with RBF kernels. Then, for
every solver and loss, the line

    passes = base + slope * log10(1 / gap)

with the least absolute error of log(passes), and between which factors half of the measured values lie
around it. These lines are margins.tuning.PredictionTuning.
"""

import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.losses import loss_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import measuring
import reporting
from benchmark import load
from contests import accuracy_of

# The kernels that each solver is measured with.
SOLVERS = {
    "decomposition": [{"kernel": "rbf", "gamma": gamma} for gamma in ("scale", 0.1, 1.0)],
    "conjugate": [{}],
    "unlearning": [{}],
    "dcd": [{}],
}
KERNEL_ROWS = 4000
LOSSES = ("squared_hinge", "hinge")
PENALTIES = (0.01, 1.0, 100.0)
GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
SMALL = ("breast-cancer", "digits", "sonar", "splice", "mushrooms", "pcmac", "a9a", "usps")


def measured(names, limit):
    """Yield (solver, loss, gap, passes) of every fit that ended within the limit, in seconds."""
    for name in names:
        samples = load(name)
        few = np.random.default_rng(0).permutation(len(samples[1]))[:KERNEL_ROWS]
        for solver, kernels in SOLVERS.items():
            for kernel, loss, C in itertools.product(kernels, LOSSES, PENALTIES):
                X, y = [part[few] for part in samples] if kernel else samples
                for gap in GAPS:
                    params = {"loss": loss, "C": C, "eps": accuracy_of(loss, gap)} | kernel
                    classifier = margins.MarginClassifier(solver=solver, random_state=0, **params)
                    try:
                        with measuring.deadline(limit), warnings.catch_warnings():
                            warnings.simplefilter("ignore", ConvergenceWarning)
                            classifier.fit(X, y)
                    except measuring.TooSlow:
                        print(f"{name} {solver} {loss} C={C:g} gap={gap:g}: more than {limit} s")
                        break
                    if classifier.converged_:
                        required = loss_of(loss, C).required_gap(classifier.eps)
                        yield solver, loss, required, classifier.n_accesses_ / X.shape[0]


def fitted(gaps, passes):
    """Return base and slope, both at least 0, and the quartiles of measured / predicted."""
    decades, passes = np.log10(1 / np.asarray(gaps)), np.asarray(passes)

    def line(parameters):
        return np.abs(parameters[0]) + np.abs(parameters[1]) * decades

    def error(parameters):
        return np.abs(np.log(passes / np.maximum(line(parameters), 1e-9))).sum()

    best = min(
        (minimize(error, start, method="Nelder-Mead") for start in ([1, 1], [1, 20], [20, 1], [5, 100])),
        key=lambda result: result.fun,
    )
    return *np.abs(best.x), *np.quantile(passes / line(best.x), [0.25, 0.75])


def main(argv=None):
    """Print the lines of all solvers."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("names", nargs="*", default=SMALL, metavar="NAME")
    parser.add_argument("--limit", type=float, default=20.0, metavar="SECONDS")
    arguments = parser.parse_args(argv)
    rows = list(measured(arguments.names, arguments.limit))
    print("solver         loss           fits   base  slope   half of the fits between")
    for solver in SOLVERS:
        for loss in LOSSES:
            chosen = [(gap, passes) for s, of, gap, passes in rows if (s, of) == (solver, loss)]
            if len(chosen) > 2:
                base, slope, low, high = fitted(*zip(*chosen, strict=True))
                print(
                    f"{solver:<15}{loss:<15}{len(chosen):4}{base:7.1f}{slope:7.1f}   "
                    f"{low:.2f} and {high:.2f} times the line"
                )


if __name__ == "__main__":
    main()
