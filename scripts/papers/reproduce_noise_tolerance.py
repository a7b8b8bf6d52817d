"""Tables 2 to 7 and Figures 3 and 4 of "Noise Tolerant Variants of the Perceptron Algorithm".

Everything runs for every data set with available files (environment variable MARGINS_DATA), as studies
of margins.model_selection: with --cache DIR interrupted studies resume.

Table 2, artificial data, 30 sets for each level of noise: in how many the voted perceptron, the longest
survivor and the last hypothesis are better than each other. Needs no files, nor does Table 4.

Table 3, parameter search on real data: accuracy of 10-fold cross-validation for every value of the
grids, the best of them reported. As in the paper, that best is selected on the test folds: it is the
largest of several numbers, no estimate of the accuracy on new data. "tau", "lambda", "alpha" and their
products leave the inactive values out (tau = 0, lambda = 0, no bound), so they can be below "nothing".
usps and mnist join training and test set: the paper does not say so, but its Table 1 counts both
together.

Table 4, the same search on artificial data with noise, f = 50, M = 0.05. It ends with a check: on
average the voted perceptron is at least as accurate as the last hypothesis.

Table 5, adult by margin and size of the training set. Ours are drawn at random from each fold's, larger
ones around smaller ones; the paper does not say how its were. (Its adult has 105 features, some of them
numbers; the file of Platt has 123, all of them 0 or 1.)

Table 6, parameter optimization by double cross-validation, 10 x 10 folds, inactive values included. The
last columns are support vector machines, by LinearSVC instead of SVMlight: the best of their grids,
selected on the test folds. (The paper's of sonar, 57.2 +- 11.9 and 55.0 +- 11.8, seem to come from folds
of the file as it is, sorted by class: without a permutation ours are 56.4 +- 12.2 and 57.4 +- 12.5.)

Table 7, parameter optimization on usps, adult and mnist: chosen on a part of the training set held out
(--choose hold-out; the paper does not say how large its part was), then all of the training set is
learned, and the accuracy is that of the test set. With --choose hindsight parameters are selected on the
test set. The paper says of its kernel only "degree 4"; gamma = coef0 = 1 is our guess.

Figure 3, accuracy against tau on artificial data; Figure 4, Table 5 as learning curves. The paper's
figures are not among what we have of it: these show what its text says of them.

The paper's lambda is in units of eta: `lam` is eta times its value. docs/papers.md says why, what other
readings give, and how draws spread: scripts/papers/paper_tables.py.

As in the paper, theta_init = C = the mean of <x, x>, and the samples are permuted once, before the
folds are cut, and processed in that order. --repeats draws more such permutations (or data sets).
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting
from noise_tolerance_blocks import LOSSES, REPRODUCE, drawn
from noise_tolerance_data import NOISE, present
from noise_tolerance_report import LEGEND, summary, text
from noise_tolerance_studies import Studies
from noise_tolerance_tables import COLUMNS, FOLDS, SOURCE, TABLE_3, TABLE_4, TABLE_6, TABLE_7

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
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="of PNGs (default: here)"
    )
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
    defaults |= {"tables": list(TABLES), "figures": list(FIGURES)} | (QUICK if arguments.quick else {})
    if arguments.tables or arguments.figures:  # named: no others
        defaults |= {"tables": [], "figures": []}
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    for name, least in (("repeats", 1), ("folds", 2), ("epochs", 1)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}. Got {value}.")
    if not 0 < arguments.share < 1:
        parser.error(f"--share must be in (0, 1). Got {arguments.share:g}.")
    wanted = list(blocks_of(arguments))
    blocks = [(table, name) for table, name in wanted if present(data_of(name))]
    arguments.missing = sorted({data_of(name) for _, name in wanted if not present(data_of(name))})
    if arguments.missing and arguments.explicit:
        parser.error(
            f"the folder that {real_data.VARIABLE} names must hold the files of what is run. "
            f"Got none of {', '.join(arguments.missing)}."
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
        # The artificial set belongs to the table: it is omitted only if others are requested.
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


def data_of(name):
    """The data set of a block of that name."""
    return name.split(",")[0]


def main(argv=None):
    parser, arguments, blocks = parsed(argv)
    try:
        reporting.write_json(arguments, SOURCE, [])  # a file that cannot be written is an error now
    except OSError as error:
        parser.error(f"--json must be a file that can be written. Got: {error}.")
    if arguments.figures:
        try:
            arguments.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--out must be a folder that can be written to. Got: {error}.")
    progress = reporting.Progress(len(blocks) + len(arguments.figures))
    versions = ", ".join(f"{name} {value}" for name, value in reporting.environment().items())
    progress.print(f"{SOURCE}\n{versions}\n{LEGEND}")
    if arguments.quick:
        progress.print("--quick: few folds and epochs, so the numbers need not be the paper's.")
    if arguments.missing:
        progress.print(f"Left out, for their files are not present: {', '.join(arguments.missing)}.")
    studies = Studies(arguments.folds, arguments.n_jobs, arguments.cache)
    # The paper's runs have a fixed number of epochs, so a warning of no convergence is not needed.
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
            progress.print(drawn(number, arguments, seeds, studies, results))


if __name__ == "__main__":
    main()
