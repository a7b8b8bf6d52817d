"""Tables 2 to 7 and Figures 3 and 4 of "Noise Tolerant Variants of the Perceptron Algorithm".

Everything runs for every data set whose files are present (environment variable MARGINS_DATA), as
studies of margins.model_selection: with --cache DIR what is interrupted goes on where it was.

Table 2, artificial data, 30 sets for each level of noise: in how many the voted perceptron, the longest
survivor and the last hypothesis are better than each other. Needs no files, nor does Table 4.

Table 3, parameter search on real data: accuracy of 10-fold cross-validation for every value of the
grids, the best of them reported. That best is taken in hindsight, as the paper does: it is the largest
of several numbers, no estimate of the accuracy on new data. "tau", "lambda", "alpha" and their products
leave the inactive values out (tau = 0, lambda = 0, no bound), so they can be below "nothing". usps and
mnist join training and test set: the paper does not say so, but its Table 1 counts both together.

Table 4, the same search on artificial data with noise, f = 50, M = 0.05. It ends with a check: on
average the voted perceptron is at least as accurate as the last hypothesis.

Table 5, adult by margin and size of the training set. Ours are the folds' first rows; the paper does
not say how its training sets were drawn. (Its adult has 105 features, the file of Platt 123.)

Table 6, parameter optimization by double cross-validation, 10 x 10 folds, inactive values included. The
last columns are support vector machines, by LinearSVC instead of SVMlight: best of their grids, known
with hindsight.

Table 7, parameter optimization on usps, adult and mnist: chosen on a part of the training set held out
(--choose hold-out; the paper does not say how large its part was), then all of the training set is
learned, and the accuracy is that of the test set. With --choose hindsight the test set itself chooses.
The paper says of its kernel only "degree 4"; gamma = coef0 = 1 is our guess.

Figure 3, accuracy against tau on artificial data; Figure 4, Table 5 as learning curves. The paper's
figures are not among what we have of it: these show what its text says of them.

As in the paper, theta_init = C = the mean of <x, x>, and the patterns are permuted once, before the
folds are cut, and presented in that order. --repeats draws more such permutations (or data sets).
"""

import argparse
import itertools
import os
import sys
import warnings
from pathlib import Path

import noise_tolerance_figures as figures
import numpy as np
import real_data
import reporting
from noise_tolerance_data import (
    NOISE,
    all_artificial,
    artificial,
    part_of,
    patterns,
    permuted,
    present,
)
from noise_tolerance_report import (
    HALF_PER_DEVIATION,
    LEGEND,
    compared,
    ordering,
    relations,
    row_of,
    summary,
    text,
)
from noise_tolerance_studies import READOUTS, SVM_ITERATIONS, Studies, sizes_of
from noise_tolerance_tables import (
    ADULT_RUN,
    COLUMNS,
    DEFAULT_RUN,
    FOLDS,
    OPTIMIZATION_RUNS,
    OPTIMIZED,
    SEARCH_RUNS,
    SEARCHED,
    SIZES,
    SOURCE,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_6_SVM,
    TABLE_7,
)
from sklearn.exceptions import ConvergenceWarning

try:
    import resource
except ImportError:  # Windows has none
    resource = None

TABLES = (2, 3, 4, 5, 6, 7)
FIGURES = (3, 4)
NAMES = tuple(dict.fromkeys([*TABLE_3, "adult"]))
QUICK = {
    "tables": [2, 3, 4, 6],
    "figures": [3],
    "datasets": ["promoters", "wpbc"],
    "columns": ["nothing", "tau"],
    "noise": [0.05],
    "folds": 3,
    "epochs": 5,
}
QUICK_SETS = {"n_features": (50,), "margins": (0.05, 0.75)}  # of Table 2
LOSSES = {"svm-l1": "hinge", "svm-l2": "squared_hinge"}


def command_line():
    """The options: argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def several(names, values, kind, text):
        parser.add_argument(*names, nargs="+", type=kind, choices=values, default=None, help=text)

    several(["--tables"], TABLES, int, "default: all, but none if --figures names some")
    several(["--figures"], FIGURES, int, "default: both, but none if --tables names some")
    several(["--datasets", "--data"], NAMES, str, "of Tables 3, 5, 6, 7 (default: all present)")
    several(["--columns"], (*COLUMNS, *LOSSES), str, "default: all that a table has")
    several(["--noise"], tuple(TABLE_4), float, "of Tables 2 and 4 (default: all)")
    several(["--kernels"], ("linear", "poly"), str, "of Table 7 (default: linear)")
    parser.add_argument(
        "--choose", choices=("hold-out", "hindsight"), default="hold-out", help="Table 7: what chooses"
    )
    parser.add_argument(
        "--share", type=float, default=0.2, help="Table 7: of the hold-out (default: %(default)s)"
    )
    parser.add_argument("--gamma", type=float, default=1.0, help="of the kernel (default: %(default)s)")
    parser.add_argument("--coef0", type=float, default=1.0, help="of the kernel (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument("--folds", type=int, default=None, metavar="N", help=f"default: {FOLDS}")
    parser.add_argument("--epochs", type=int, default=None, metavar="N", help="default: the paper's")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--n-jobs", type=int, default=1, metavar="N", help="threads; -1: all CPUs")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where finished fits are kept")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small part of Tables 2, 3, 4, 6 and Figure 3 (unless options say otherwise), with few "
        "folds and epochs: to see that the script runs, not to compare",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where PNGs go (default: here)")
    return parser


def parsed(argv):
    """The options with their defaults, and the blocks to run: arguments, list of (table, name).

    Exits with code 2, saying why, if something is out of range or there is nothing to run.
    """
    parser = command_line()
    arguments = parser.parse_args(argv)
    arguments.explicit = arguments.datasets is not None
    defaults = {"noise": list(TABLE_4), "kernels": ["linear"], "folds": FOLDS, "datasets": list(NAMES)}
    defaults |= {"columns": [*COLUMNS, *LOSSES]}
    if arguments.tables is None and arguments.figures is None:
        defaults |= {"tables": list(TABLES), "figures": list(FIGURES)}
    for name, value in (defaults | (QUICK if arguments.quick else {})).items():
        if getattr(arguments, name) is None and (name in defaults or name not in ("tables", "figures")):
            setattr(arguments, name, value)
    arguments.tables, arguments.figures = arguments.tables or [], arguments.figures or []
    for name, least in (("repeats", 1), ("folds", 2), ("epochs", 1)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}. Got {value}.")
    if not 0 < arguments.share < 1:
        parser.error(f"--share must be in (0, 1). Got {arguments.share:g}.")
    wanted = list(blocks_of(arguments))
    blocks = [block for block in wanted if present(data_of(*block))]
    missing = sorted({data_of(*block) for block in wanted} - {data_of(*block) for block in blocks})
    if missing and arguments.explicit:
        parser.error(
            f"the folder that {real_data.VARIABLE} names must hold the files of what is run. "
            f"Got none of {', '.join(missing)}."
        )
    if not blocks and not arguments.figures:
        parser.error(
            f"--datasets must be of the --tables, and their files in the folder that "
            f"{real_data.VARIABLE} names ({os.environ.get(real_data.VARIABLE) or 'not set'}). "
            f"Got none to run of {' '.join(arguments.datasets)}."
        )
    return parser, arguments, blocks


def blocks_of(arguments):
    """Yield (table, name of the data) of what is reported together."""
    noisy = [f"{NOISE}{noise:g}" for noise in arguments.noise]
    names = {
        2: noisy,
        3: [name for name in arguments.datasets if name in TABLE_3],
        4: noisy,
        5: [name for name in arguments.datasets if name == "adult"],
        # The artificial set belongs to the table: it is left out only if others are asked for.
        6: [name for name in arguments.datasets if name in TABLE_6]
        + ([] if arguments.explicit else [name for name in TABLE_6 if name.startswith(NOISE)]),
        7: [
            f"{name}, {kernel}"
            for kernel in arguments.kernels
            for name in arguments.datasets
            if (name, kernel) in TABLE_7
        ],
    }
    return ((table, name) for table in arguments.tables for name in names[table])


def data_of(table, name):
    """The data set of a block."""
    return name.split(",")[0]


def data_sets(name, seeds):
    """The data of every repeat, permuted: list of (X, y)."""
    if name.startswith(NOISE):
        return [permuted(*artificial(float(name.removeprefix(NOISE)), seed), seed) for seed in seeds]
    X, y = patterns(name)
    return [permuted(X, y, seed) for seed in seeds]


def columns_of(arguments, those):
    """Pairs of a column that is asked for and a readout."""
    return itertools.product((each for each in those if each in arguments.columns), READOUTS)


def published_in(table, columns):
    """(readout, column) -> what the paper prints: a function that returns dict, or None."""

    def published(readout, column):
        value = dict(zip(columns, table[readout], strict=False)).get(column)
        return None if value is None else {"accuracy": value}

    return published


def dominated(name, arguments, seeds, studies):
    """Table 2, a level of noise: dict."""
    noise, run = float(name.removeprefix(NOISE)), run_of(DEFAULT_RUN, arguments)
    sets = list(all_artificial(noise, arguments.seed, **(QUICK_SETS if arguments.quick else {})))
    means = [
        studies.readouts(permuted(X, y, seeds[0]), run).tables[0].mean_scores().tolist() for X, y in sets
    ]
    return {
        **{"table": 2, "data": name, "run": run, "n_sets": len(sets), "accuracies": means},
        **{"relations": np.sum([relations(each) for each in means], axis=0).tolist()},
        "paper": list(TABLE_2[noise]),
    }


def searched(name, arguments, seeds, studies):
    """Tables 3 and 4, a data set: dict."""
    sets, run = data_sets(name, seeds), run_of(SEARCH_RUNS.get(name, DEFAULT_RUN), arguments)
    noisy = name.startswith(NOISE)
    printed = TABLE_4[float(name.removeprefix(NOISE))] if noisy else TABLE_3[name]
    published = published_in(printed, SEARCHED)
    rows = [
        row_of(
            [studies.search(data, column, readout, run) for data in sets],
            *(column, readout, published(readout, column)),
        )
        for column, readout in columns_of(arguments, SEARCHED)
        # What the paper did not run (alpha on mnist) is not run either.
        if not (name == "mnist" and published(readout, column) is None)
    ]
    found = result_of(4 if noisy else 3, name, sets[0], run, rows)
    return found | ({"ordering": ordering(rows)} if noisy else {})


def by_size(name, arguments, seeds, studies):
    """Table 5: dict, with rows of tau (in the column), size and readout."""
    (data, *_), run = data_sets(name, seeds[:1]), run_of(ADULT_RUN, arguments)
    rows = []
    for size in sizes_of(data, arguments.folds):
        (table,) = studies.margins(data, run, size).tables
        for setting, scores in zip(table.settings, table.scores["accuracy"], strict=True):
            tau, readout = setting["tau"], setting["readout"]
            accuracy, deviation = (each[SIZES.index(size)] for each in TABLE_5[tau][readout])
            rows.append(
                {
                    **compared_scores(
                        scores, {"accuracy": accuracy, "half_width": HALF_PER_DEVIATION * deviation}
                    ),
                    **{"column": f"{size}, tau = {tau:g}", "size": size, "tau": tau},
                    **{"readout": readout, "deviation": 100 * float(np.std(scores)), "chosen": []},
                }
            )
    return result_of(5, name, data, run, rows)


def compared_scores(scores, published):
    """Scores of folds beside the paper's: dict."""
    low, high = margins_interval(scores)
    return compared([100 * float(np.mean(scores))], [(low, high)], published)


def margins_interval(scores):
    """Ends of the T interval, in percent."""
    from margins.model_selection import t_interval

    return [100 * end for end in t_interval(np.asarray(scores).tolist())]


def doubly_validated(name, arguments, seeds, studies):
    """Table 6, a data set: dict."""
    sets, run = data_sets(name, seeds), run_of(DEFAULT_RUN, arguments)
    rows = []
    for column, readout in columns_of(arguments, COLUMNS):
        printed = (numbers[list(COLUMNS).index(column)] for numbers in TABLE_6[name][readout])
        found = [studies.double(data, column, readout, run) for data in sets]
        rows.append(
            row_of(found, column, readout, dict(zip(("accuracy", "half_width"), printed, strict=True)))
        )
    for index, (column, loss) in enumerate(LOSSES.items()):
        if column in arguments.columns and name in TABLE_6_SVM:
            iterations = SVM_ITERATIONS // (100 if arguments.quick else 1)
            found = [studies.svm(data, loss, iterations) for data in sets]
            accuracy, half = TABLE_6_SVM[name][index]
            rows.append(row_of(found, column, "svm", {"accuracy": accuracy, "half_width": half}))
            rows[-1]["chosen"] = [study.best_params for study in found]
    return result_of(6, name, sets[0], run, rows)


def optimized(name, arguments, seeds, studies):
    """Table 7, a data set and a kernel: dict."""
    data, kernel = name.split(", ")
    printed = TABLE_7[data, kernel]
    published = published_in(printed, OPTIMIZED)
    run = run_of(OPTIMIZATION_RUNS[data], arguments)
    if kernel == "poly":
        run |= {"kernel": "poly", "degree": 4, "gamma": arguments.gamma, "coef0": arguments.coef0}
    train, test = part_of(data, "train", kernel), part_of(data, "test", kernel)
    share = arguments.share if arguments.choose == "hold-out" else None
    rows = [
        row_of(
            [
                studies.optimization(permuted(*train, seed), test, column, readout, run, share)
                for seed in seeds
            ],
            *(column, readout, published(readout, column)),
        )
        for column, readout in columns_of(arguments, OPTIMIZED[: len(printed["last"])])
    ]
    return {**result_of(7, name, train, run, rows), "peak_megabytes": peak_megabytes()}


def run_of(run, arguments):
    """eta and max_iter of a block: dict."""
    return run | ({"max_iter": arguments.epochs} if arguments.epochs else {})


def result_of(table, name, data, run, rows):
    """What every block reports: dict."""
    n_samples, n_features = data[0].shape
    sizes = {"n_samples": n_samples, "n_features": n_features}
    return {"table": table, "data": name, **sizes, "run": run, "rows": rows}


def peak_megabytes():
    """The most memory that the process has had so far, or None where nobody knows: float."""
    if resource is None:
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


REPRODUCE = {2: dominated, 3: searched, 4: searched, 5: by_size, 6: doubly_validated, 7: optimized}


def main(argv=None):
    parser, arguments, blocks = parsed(argv)
    try:
        reporting.write_json(arguments, SOURCE, [])  # what cannot be written is better known now
    except OSError as error:
        parser.error(f"--json must be a file that can be written. Got: {error}.")
    progress = reporting.Progress(len(blocks) + len(arguments.figures))
    versions = ", ".join(f"{name} {value}" for name, value in reporting.environment().items())
    progress.print(f"{SOURCE}\n{versions}\n{LEGEND}")
    if arguments.quick:
        progress.print("--quick: few folds and epochs, so the numbers need not be the paper's.")
    studies = Studies(arguments.folds, arguments.n_jobs, arguments.cache)
    # A run of so many epochs is what the paper asks for: that it has not converged is no fault.
    # Ignored here, once: what threads do to the filters would reach each other.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = []
        # Each repeat has its own seed, so neither threads nor other blocks matter.
        seeds = np.random.SeedSequence(arguments.seed).generate_state(arguments.repeats).tolist()
        for table, name in blocks:
            progress.step(f"Table {table} {name}")
            results.append(REPRODUCE[table](name, arguments, seeds, studies))
            progress.print(text(results[-1]))
            reporting.write_json(arguments, SOURCE, results)  # what is done survives an interruption
        progress.print(summary(results))
        for number in arguments.figures:
            progress.step(f"Figure {number}")
            progress.print(figures.draw(number, arguments, seeds, studies))


if __name__ == "__main__":
    main()
