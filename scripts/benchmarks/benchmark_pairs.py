"""Small problems and pairs of classes against SVC: processor seconds of both sides in one run.

    python scripts/benchmarks/benchmark_pairs.py [--data digits iris] [--repeats 20]

Each data set of scikit-learn, every feature standardised (digits divided by 16), is fitted one-vs-one
with an intercept that is free and one that is penalised, both losses, three kernels and every C. SVC
solves the problem of the hinge loss and a free intercept, with the same kernel and C, at its default
tol; ours proves eps = 1e-3. Fits of both sides alternate, and the fastest of each
counts. Printed are milliseconds of both and their ratio; the last line has the median ratio.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

LOADERS = {
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
}
KERNELS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "poly": {"kernel": "poly", "coef0": 1.0},
}


def data_of(name):
    """Return X, with columns of similar size, and labels."""
    X, y = LOADERS[name](return_X_y=True)
    return (X / 16 if name == "digits" else StandardScaler().fit_transform(X)), y


def main(arguments=None):
    """Print a line for each setting, and return the ratios: list of float."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--data", nargs="+", default=list(LOADERS), choices=LOADERS)
    option("--C", nargs="+", type=float, default=[1.0, 10.0])
    option("--repeats", type=int, default=20)
    options = parser.parse_args(arguments)
    ratios = []
    settings = itertools.product(
        options.data, KERNELS, options.C, ("hinge", "squared_hinge"), (False, True)
    )
    for name, kernel, C, loss, penalised in settings:
        X, y = data_of(name)
        params = {"C": C, **KERNELS[kernel]}
        ours = margins.MarginClassifier(
            multi_class="ovo", eps=1e-3, loss=loss, penalize_intercept=penalised, **params
        )
        seconds, reference = reporting.alternating(
            [ours, SVC(**params)], lambda side, X=X, y=y: side.fit(X, y), options.repeats
        )
        ratios.append(seconds / reference)
        intercept = "penalised" if penalised else "free"
        print(
            f"{name:13} {kernel:6} C={C:<5g} {loss:13} {intercept:9} "
            f"{1e3 * seconds:8.2f} SVC {1e3 * reference:8.2f} ratio {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"median ratio of {len(ratios)} settings: {np.median(ratios):.2f}")
    return ratios


if __name__ == "__main__":
    reporting.in_both_environments(main)
