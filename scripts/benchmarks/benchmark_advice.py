"""Errors on new samples of every algorithm after a fit to a fixed set, with default parameters.

Eight kinds of generated sets, 400 samples to train and 2,000 to test unless a line says otherwise. Each
number is the share of wrong predictions, averaged over both classes and over the seeds; test labels have
no noise. The three smallest of a column are marked by `*`. The last columns are processor milliseconds.

    clean       20 features, one hyperplane, no noise
    noisy       the same, with 15 % of the training labels flipped
    few         the same, with 60 samples to train
    outliers    the same as `clean`, with 2 % of the training samples flipped and five times as long
    relevant    500 features, of which 5 decide
    uneven      a tenth of the samples positive, 10 % of the labels flipped
    correlated  as `noisy`, with features that share most of their variance
    raw         as `noisy`, with features from 0.1 to 1000 times as large
    real        ten data sets of MARGINS_DATA, two seeds each: features scaled, 15 % of the training
                labels flipped; left out without the data

`pfm` is told half the margin of the training set, and `alma, p` has p = 2 ln(number of features).
docs/choosing.md has the table.

    MARGINS_DATA=... python scripts/benchmarks/benchmark_advice.py [--seeds 5]
"""

import functools
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MaxAbsScaler

import margins
from margins.text import aligned

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting
from benchmark_streams import marked, seeded

N_TRAIN, N_FEW, N_TEST = 400, 60, 2000
N_FEATURES, N_WIDE, N_RELEVANT = 20, 500, 5
KINDS = ("clean", "noisy", "few", "outliers", "relevant", "uneven", "correlated", "raw", "real")
TIMED = ("clean", "noisy", "raw")
REAL = (
    *("breast-cancer-wisconsin", "australian", "ionosphere", "splice", "wdbc"),
    *("mushrooms", "sonar", "usps", "a9a", "spambase"),
)
NOISE = {"noisy": 0.15, "few": 0.15, "correlated": 0.15, "raw": 0.15, "uneven": 0.1, "outliers": 0.02}
ALMA = "alma, p"


def samples_of(kind, seed):
    """Return training and test samples of a kind: X, y, X_test, y_test, with labels -1 and 1."""
    rng = np.random.default_rng(seed)
    if kind == "real":
        return _real_samples(REAL[seed % len(REAL)], rng)
    n, d = N_FEW if kind == "few" else N_TRAIN, N_WIDE if kind == "relevant" else N_FEATURES
    X = rng.normal(size=(n + N_TEST, d)) / np.sqrt(d)
    if kind == "correlated":
        X = 0.3 * X + rng.normal(size=(len(X), 1)) / np.sqrt(d)
    normal = rng.normal(size=d)
    if kind == "relevant":
        normal[N_RELEVANT:] = 0
    scores = (X - X.mean(axis=0)) @ normal
    y = np.where(scores > (np.quantile(scores, 0.9) if kind == "uneven" else 0), 1, -1)
    if kind == "raw":
        X = X * 10.0 ** rng.uniform(-1, 3, d)
    train, test = slice(n), slice(n, None)
    X_train, y_train = X[train].copy(), y[train].copy()
    flipped = rng.random(n) < NOISE.get(kind, 0)
    y_train[flipped] *= -1
    if kind == "outliers":
        X_train[flipped] *= 5
    return X_train, y_train, X[test], y[test]


@functools.cache
def _real_data(name):
    samples = real_data.binary(name)
    return MaxAbsScaler().fit_transform(samples.X), samples.y


def _real_samples(name, rng):
    """Return training and test samples of a data set: X, y, X_test, y_test."""
    X, y = _real_data(name)
    order = rng.permutation(len(y))[: N_TRAIN + N_TEST]
    X, y = X[order], y[order]
    n = min(N_TRAIN, len(y) // 2)
    flipped = rng.random(n) < NOISE["noisy"]
    return X[:n], np.where(flipped, -y[:n], y[:n]), X[n:], y[n:]


def classifier_of(name, X, y, seed):
    """Return the classifier of a name, with default parameters."""
    classifier = margins.get("alma" if name == ALMA else name)()
    if name == ALMA:
        classifier.set_params(p=2 * np.log(X.shape[1]))
    if name == "pfm":
        auto = margins.MarginClassifier().fit(X, y)
        classifier.set_params(gamma=0.5 * auto.certificates_[0].margin)
    return seeded(classifier, seed)


def measure(name, kind, seed):
    """Return the error on the test samples, and the processor seconds of the fit: (float, float)."""
    X, y, X_test, y_test = samples_of(kind, seed)
    classifier = classifier_of(name, X, y, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, seconds = reporting.timed(lambda: classifier.fit(X, y))
    wrong = classifier.predict(X_test) != y_test
    return float(np.mean([wrong[y_test == label].mean() for label in (-1, 1)])), seconds


def main(arguments=None):
    """Print the table."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--seeds", type=int, default=5, metavar="N")
    option("--kinds", nargs="+", choices=KINDS, default=KINDS)
    option("--algorithms", nargs="+", metavar="NAME", help="otherwise all")
    options = parser.parse_args(arguments)
    built_ins = sorted({*margins.registry.built_ins(), ALMA} - {"auto"})
    names = options.algorithms or ["auto", *built_ins]
    has_data = bool(real_data.available())
    kinds = [kind for kind in options.kinds if has_data or kind != "real"]
    timed = [kind for kind in kinds if kind in TIMED]
    for name in names:
        measure(name, "few", 0)  # fits import modules when they first need them
    errors, seconds = {}, {}
    for kind in kinds:
        seeds = range(2 * len(REAL) if kind == "real" else options.seeds)
        for name in names:
            measured = [measure(name, kind, seed) for seed in seeds]
            errors[name, kind], seconds[name, kind] = np.mean(measured, axis=0)
    columns = [marked([errors[name, kind] for name in names]) for kind in kinds]
    columns += [[f"{1000 * seconds[name, kind]:.3g}" for name in names] for kind in timed]
    header = ["algorithm", *kinds, *(f"ms, {kind}" for kind in timed)]
    print(aligned([header, *zip(names, *columns, strict=True)]))


if __name__ == "__main__":
    reporting.in_both_environments(main)
