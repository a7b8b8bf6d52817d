"""Small problems and pairs of classes against SVC: processor seconds of both sides in one run.

    python scripts/benchmarks/benchmark_pairs.py [--data digits iris] [--repeats 20]

Each data set of scikit-learn, every feature standardised (digits divided by 16), is fitted one-vs-one
with an intercept that is free and one that is penalised, both losses, three kernels and every C. SVC
solves the problem of the hinge loss and a free intercept, with the same kernel and C, at its default
tol; ours proves eps = 1e-3. Fits of both sides alternate, with one thread, and the fastest of each
counts. Printed are milliseconds of both and their ratio; the last line has the median ratio.
"""

import argparse
import itertools
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import margins

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
    """X, of columns of similar size, and labels."""
    X, y = LOADERS[name](return_X_y=True)
    return (X / 16 if name == "digits" else StandardScaler().fit_transform(X)), y


def milliseconds_of(makers, X, y, repeats):
    """The least processor time of each of some fits, in alternation: list of float."""
    best = [np.inf] * len(makers)
    for _ in range(repeats):
        for index, make in enumerate(makers):
            begin = time.process_time()
            make().fit(X, y)
            best[index] = min(best[index], 1e3 * (time.process_time() - begin))
    return best


def main(arguments=None):
    """Print a line for each setting: the ratios, list of float."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=list(LOADERS), choices=LOADERS)
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args(arguments)
    ratios = []
    settings = itertools.product(
        options.data, KERNELS, options.C, ("hinge", "squared_hinge"), (False, True)
    )
    for name, kernel, C, loss, penalised in settings:
        X, y = data_of(name)
        params = {"C": C, **KERNELS[kernel]}

        def ours(params=params, loss=loss, penalised=penalised):
            return margins.MarginClassifier(
                multi_class="ovo", eps=1e-3, loss=loss, penalize_intercept=penalised, **params
            )

        def theirs(params=params):
            return SVC(**params)

        with threadpool_limits(1):
            seconds, reference = milliseconds_of([ours, theirs], X, y, options.repeats)
        ratios.append(seconds / reference)
        intercept = "penalised" if penalised else "free"
        print(
            f"{name:13} {kernel:6} C={C:<5g} {loss:13} {intercept:9} "
            f"{seconds:8.2f} SVC {reference:8.2f} ratio {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"median ratio of {len(ratios)} settings: {np.median(ratios):.2f}")
    return ratios


if __name__ == "__main__":
    main()
