"""Tables 3, 4 and 7 of "Noise Tolerant Variants of the Perceptron Algorithm": accuracies in percent.

Table 3, parameter search on real data: accuracy of 10-fold cross-validation for every value of the
grids, the best of them reported. That best is taken in hindsight, as the paper does: it is the largest
of several numbers, no estimate of the accuracy on new data. "tau", "lambda", "alpha" and their products
leave the inactive values out (tau = 0, lambda = 0, no bound), so they can be below "nothing". usps and
mnist run only if --data names them, training and test set joined: the paper does not say so, but its
Table 1 counts both together.

Table 4, the same search on artificial data with noise, f = 50, M = 0.05. The table needs no files. It
ends with a check: on average the voted perceptron is at least as accurate as the last hypothesis.

Table 7, parameter optimization on usps and mnist: the values, inactive ones included, are chosen on a
part of the training set held out (--choose hold-out; the paper does not say how large its part was),
then all of the training set is learned, and the accuracy is that of the test set. With --choose
hindsight the test set itself chooses.

As in the paper, theta_init = C = the mean of <x, x>, and the patterns are permuted once, before the
folds are cut, and presented in that order. "+-" is the standard deviation over --repeats such
permutations (or artificial data sets); the paper has one.

To multiply all features by a constant changes nothing: w.x, theta_init, C, the unit of tau and the
lambda-trick's bonus all grow by its square. So mnist's pixels stay what they are, 0 to 255. A shift does
matter: the file of usps holds v, the original is 2 v - 1, from -1 to 1. Nor is the polynomial kernel
(gamma <x, z> + coef0)^4 free of scale: for it mnist is divided by 255. The paper says only "degree 4";
gamma = coef0 = 1 is our guess.
"""

import argparse
import itertools
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import real_data
import reporting
from joblib import Parallel, delayed
from noise_tolerance_tables import (
    COLUMNS,
    DEFAULT_RUN,
    FEATURES,
    FOLDS,
    GRIDS,
    LEGEND,
    MARGIN,
    OPTIMIZATION_RUNS,
    OPTIMIZED,
    SEARCH_RUNS,
    SEARCHED,
    SOURCE,
    TABLE_3,
    TABLE_4,
    TABLE_7,
    ordering,
    rows_of,
    summary,
    text,
)
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import margins
from margins.datasets import make_noisy_halfspace

try:
    import resource
except ImportError:  # Windows has none
    resource = None

READOUTS = {"last": "pam", "longest": "longest-survivor", "voted": "voted-perceptron"}
LARGE = tuple(OPTIMIZATION_RUNS)
QUICK = {
    "noise": [0.1],
    "repeats": 1,
    "folds": 3,
    "epochs": 5,
}
QUICK_DATA = ("promoters", "wpbc")  # of Table 3
NOISE = "noise "  # begins the name of an artificial data set
OFF = tuple(values[0] for values in GRIDS.values())


def command_line():
    """The options: argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def several(name, values, kind, text):
        parser.add_argument(name, nargs="+", type=kind, choices=values, default=None, help=text)

    several("--tables", (3, 4, 7), int, "default: all")
    several("--data", tuple(TABLE_3), str, "of Tables 3 and 7 (default: the small ones; usps and mnist)")
    several("--columns", tuple(COLUMNS), str, "default: nothing tau")
    several("--noise", tuple(TABLE_4), float, "of Table 4 (default: all)")
    several("--kernels", ("linear", "poly"), str, "of Table 7 (default: linear)")
    parser.add_argument("--full", action="store_true", help="every column")
    parser.add_argument(
        "--choose", choices=("hold-out", "hindsight"), default="hold-out", help="Table 7: what chooses"
    )
    parser.add_argument(
        "--share", type=float, default=0.2, help="Table 7: of the hold-out (default: %(default)s)"
    )
    parser.add_argument("--gamma", type=float, default=1.0, help="of the kernel (default: %(default)s)")
    parser.add_argument("--coef0", type=float, default=1.0, help="of the kernel (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=None, metavar="N", help="default: 5")
    parser.add_argument("--folds", type=int, default=None, metavar="N", help=f"default: {FOLDS}")
    parser.add_argument("--epochs", type=int, default=None, metavar="N", help="default: the paper's")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--n-jobs", type=int, default=1, metavar="N", help="threads; -1: all CPUs")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small part of Tables 3 and 4 (unless options say otherwise), with few folds and epochs: "
        "to see that the script runs, not to compare",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    return parser


def parsed(argv):
    """The options with their defaults, and the blocks to run: arguments, list of (table, name).

    Exits with code 2, saying why, if something is out of range or there is nothing to run.
    """
    parser = command_line()
    arguments = parser.parse_args(argv)
    tables = [3, 4] if arguments.quick else [3, 4, 7]
    defaults = {"tables": tables, "noise": list(TABLE_4), "kernels": ["linear"], "repeats": 5}
    defaults |= {"columns": ["nothing", "tau"], "folds": FOLDS}
    for name, value in (defaults | (QUICK if arguments.quick else {})).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    if arguments.full:
        arguments.columns = list(COLUMNS)
    for name, least in (("repeats", 1), ("folds", 2), ("epochs", 1)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}. Got {value}.")
    if not 0 < arguments.share < 1:
        parser.error(f"--share must be in (0, 1). Got {arguments.share:g}.")
    blocks = list(blocks_of(arguments))
    if not blocks:
        parser.error(f"--data must be of the --tables. Got none to run of {' '.join(arguments.data)}.")
    needed = {name.split(",")[0] for table, name in blocks if table != 4}
    if needed and not os.environ.get(real_data.VARIABLE):
        parser.error(
            f"the environment variable {real_data.VARIABLE} must be set to the folder that holds the "
            "data sets (promoters/, usps/, ...), or --tables be 4. Got no value."
        )
    if missing := needed.difference(real_data.available()):
        parser.error(
            f"the folder that {real_data.VARIABLE} names must hold the files of what is run. "
            f"Got none of {', '.join(sorted(missing))}."
        )
    return parser, arguments, blocks


def blocks_of(arguments):
    """Yield (table, name of the data) of what is reported together."""
    for table in arguments.tables:
        if table == 3:
            small = QUICK_DATA if arguments.quick else [name for name in TABLE_3 if name not in LARGE]
            yield from ((3, name) for name in arguments.data or small)
        elif table == 4:
            yield from ((4, f"{NOISE}{noise:g}") for noise in arguments.noise)
        else:
            names = [name for name in arguments.data or LARGE if name in LARGE]
            yield from ((7, f"{name}, {kernel}") for kernel in arguments.kernels for name in names)


def joined(first, second):
    """Rows of both: dense or csr as `first`."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], "csr")
    return np.vstack([first, second])


def images(name, part, kernel="linear"):
    """Patterns and digits of usps (from -1 to 1) or mnist (pixels; from 0 to 1 for a kernel): X, y."""
    dataset = real_data.load(name, part)
    if name == "usps":
        return 2 * dataset.X.toarray() - 1, dataset.y
    return dataset.X if kernel == "linear" else dataset.X / 255, dataset.y


def patterns(name):
    """What Table 3 cross-validates: X, y."""
    if name not in LARGE:
        dataset = real_data.binary(name)
        return dataset.X, dataset.y
    (X, y), (X_test, y_test) = images(name, "train"), images(name, "test")
    return joined(X, X_test), np.concatenate([y, y_test])


def artificial(noise, seed):
    """A data set of Table 4: X, y."""
    return make_noisy_halfspace(
        FEATURES, margin=MARGIN, noise=noise, n_samples=600, random_state=int(seed)
    )


def settings_of(names, inactive, fixed=OFF):
    """Values of (tau, lam, alpha_bound), those of `names` from their grids: list of tuple."""
    grids = [
        (values if inactive else values[1:]) if name in names else (now,)
        for (name, values), now in zip(GRIDS.items(), fixed, strict=True)
    ]
    return list(itertools.product(*grids))


def outcome(parameters, readout, setting, part):
    """Fit and test once: accuracy in percent, seconds of the fit, seconds of the prediction."""
    X, y, X_test, y_test = part
    classifier = margins.get(READOUTS[readout])(
        **dict(zip(GRIDS, setting, strict=True)), readout=readout, shuffle="never", **parameters
    )
    begin = time.perf_counter()
    classifier.fit(X, y)
    fitted = time.perf_counter()
    predicted = classifier.predict(X_test)
    end = time.perf_counter()
    return 100 * float(np.mean(predicted == y_test)), fitted - begin, end - fitted


class Trials:
    """Outcomes of readouts and settings, each the mean over the same parts, each computed once.

    A part is a training and a test set: X, y, X_test, y_test.
    """

    def __init__(self, parts, parameters, n_jobs):
        self._parts, self._parameters, self._n_jobs = parts, parameters, n_jobs
        self._known = {}

    def outcomes(self, pairs):
        """(accuracy, seconds of a fit, seconds of a prediction) of every (readout, setting): list."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        jobs = (delayed(outcome)(self._parameters, *pair, part) for pair in new for part in self._parts)
        found = np.reshape(
            Parallel(self._n_jobs, prefer="threads")(jobs), (len(new), len(self._parts), 3)
        )
        self._known |= zip(new, map(tuple, found.mean(axis=1).tolist()), strict=True)
        return [self._known[pair] for pair in pairs]

    def best(self, readout, column, inactive):
        """The most accurate setting of a column, the first of equals: tuple."""
        chosen = OFF
        for names in COLUMNS[column]:
            settings = settings_of(names, inactive, chosen)
            accuracies = [found[0] for found in self.outcomes([(readout, each) for each in settings])]
            chosen = settings[int(np.argmax(accuracies))]
        return chosen


def permuted(X, y, seed):
    """The patterns in a random order: X, y."""
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def search(X, y, columns, parameters, seed, arguments):
    """Tables 3 and 4, once: (column, readout) -> setting, outcome."""
    X, y = permuted(X, y, seed)
    parts = [(X[a], y[a], X[b], y[b]) for a, b in KFold(arguments.folds).split(X)]
    trials = Trials(parts, parameters, arguments.n_jobs)
    found = {}
    for column, readout in itertools.product(columns, READOUTS):
        setting = trials.best(readout, column, inactive=False)
        found[column, readout] = setting, trials.outcomes([(readout, setting)])[0]
    return found


def optimization(train, test, columns, parameters, seed, arguments):
    """Table 7, once: (column, readout) -> setting, outcome."""
    X, y = permuted(*train, seed)
    final = Trials([(X, y, *test)], parameters, arguments.n_jobs)
    choice = final
    if arguments.choose == "hold-out":
        cut = min(max(1, round((1 - arguments.share) * len(y))), len(y) - 1)
        choice = Trials([(X[:cut], y[:cut], X[cut:], y[cut:])], parameters, arguments.n_jobs)
    pairs = list(itertools.product(columns, READOUTS))
    settings = [choice.best(readout, column, inactive=True) for column, readout in pairs]
    tested = [(readout, setting) for (_, readout), setting in zip(pairs, settings, strict=True)]
    return dict(zip(pairs, zip(settings, final.outcomes(tested), strict=True), strict=True))


def searched(name, arguments, seeds):
    """Table 3, a data set: dict."""
    X, y = patterns(name)
    run = run_of(SEARCH_RUNS.get(name, DEFAULT_RUN), arguments)
    columns = [column for column in SEARCHED if column in arguments.columns]
    found = [search(X, y, columns, run, seed, arguments) for seed in seeds]
    return result_of(3, name, X, run, rows_of(found, TABLE_3[name], SEARCHED))


def searched_artificial(name, arguments, seeds):
    """Table 4, a level of noise: dict."""
    noise = float(name.removeprefix(NOISE))
    sets = [artificial(noise, seed) for seed in seeds]
    run = run_of(DEFAULT_RUN, arguments)
    columns = [column for column in SEARCHED if column in arguments.columns]
    found = [
        search(X, y, columns, run, seed, arguments) for (X, y), seed in zip(sets, seeds, strict=True)
    ]
    rows = rows_of(found, TABLE_4[noise], SEARCHED)
    return {**result_of(4, name, sets[0][0], run, rows), "noise": noise, "ordering": ordering(rows)}


def optimized(name, arguments, seeds):
    """Table 7, a data set and a kernel: dict."""
    data, kernel = name.split(", ")
    published = TABLE_7[data, kernel]
    run = run_of(OPTIMIZATION_RUNS[data], arguments)
    if kernel == "poly":
        run |= {"kernel": "poly", "degree": 4, "gamma": arguments.gamma, "coef0": arguments.coef0}
    train, test = images(data, "train", kernel), images(data, "test", kernel)
    columns = [column for column in OPTIMIZED[: len(published["last"])] if column in arguments.columns]
    found = [optimization(train, test, columns, run, seed, arguments) for seed in seeds]
    rows = rows_of(found, published, OPTIMIZED)
    return {**result_of(7, name, train[0], run, rows), "peak_megabytes": peak_megabytes()}


def run_of(run, arguments):
    """eta and max_iter of a block: dict."""
    return run | ({"max_iter": arguments.epochs} if arguments.epochs else {})


def result_of(table, name, X, run, rows):
    """What every block reports: dict."""
    return {
        "table": table,
        "data": name,
        "n_samples": X.shape[0],
        "n_features": X.shape[1],
        "run": run,
        "rows": rows,
    }


def peak_megabytes():
    """The most memory that the process has had so far, or None where nobody knows: float."""
    if resource is None:
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


REPRODUCE = {3: searched, 4: searched_artificial, 7: optimized}


def main(argv=None):
    parser, arguments, blocks = parsed(argv)
    try:
        reporting.write_json(arguments, SOURCE, [])  # what cannot be written is better known now
    except OSError as error:
        parser.error(f"--json must be a file that can be written. Got: {error}.")
    progress = reporting.Progress(len(blocks))
    versions = ", ".join(f"{name} {value}" for name, value in reporting.environment().items())
    progress.print(f"{SOURCE}\n{versions}\n{LEGEND}")
    if arguments.quick:
        progress.print("--quick: few folds and epochs, so the numbers need not be the paper's.")
    # A run of so many epochs is what the paper asks for: that it has not converged is no fault.
    # Ignored here, once: what threads do to the filters would reach each other.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = []
        for table, name in blocks:
            progress.step(f"Table {table} {name}")
            # Each repeat has its own seed, so neither threads nor other blocks matter.
            seeds = np.random.SeedSequence(arguments.seed).generate_state(arguments.repeats).tolist()
            results.append(REPRODUCE[table](name, arguments, seeds))
            progress.print(text(results[-1]))
            reporting.write_json(arguments, SOURCE, results)  # what is done survives an interruption
    progress.print(summary(results))


if __name__ == "__main__":
    main()
