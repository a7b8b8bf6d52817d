"""Parts that scripts share: command lines, timed fits, tables for people, JSON for machines."""

import argparse
import json
import math
import os
import platform
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import real_data
import scipy
import sklearn
from environments import in_both_environments  # noqa: F401  # benchmarks call it here
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.text import aligned

SMALL = ("mushrooms", "promoters", "sonar", "splice")  # the sets that --quick runs
FILES = ("cache", "figure", "folder", "json", "out")  # their paths are not part of the results
SVC_ITERATIONS = 10  # LinearSVC's iterations for one of our full epochs, which may have many passes
DECADES = range(1, -7, -1)  # powers of 10 in the grid of tol
LEGEND = """\
seconds: processor time; the papers' were measured on an Intel Core 2 Duo at 2.5 GHz.
ratio: seconds in units of LinearSVC's (in the paper: of DCD's).   -: not in the paper, or no such thing.
!: ended without its proof (the ConvergenceWarning is in the JSON).   <: not good enough at any tol."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions as they are written, and the defaults of options."""

    def _get_help_string(self, action):
        has_default = action.default not in (None, False, argparse.SUPPRESS)
        return f"{action.help or ''} (default: %(default)s)" if has_default else action.help


def parser_of(description):
    """Return a parser whose help shows a script's docstring and the defaults."""
    return argparse.ArgumentParser(description=description, formatter_class=_Help)


def numbered_problems(description, count):
    """Return a parser with the options of scripts whose problems have numbers: begin, count and seed."""
    parser = parser_of(description)
    option = parser.add_argument
    option("--begin", type=int, default=0, metavar="N", help="the first problem")
    option("--count", type=int, default=count, metavar="N", help="number of problems")
    option("--seed", type=int, default=0, metavar="N")
    return parser


def command_line(description):
    """Return a parser with the options of scripts that run data sets: argparse.ArgumentParser."""
    parser = parser_of(description)
    option = parser.add_argument
    option(
        "--data", "--datasets", nargs="+", metavar="NAME", help="data sets; all present if none is named"
    )
    small = f"only small sets ({', '.join(SMALL)}) unless --data names others; tol by decades"
    option("--quick", action="store_true", help=small)
    most = f"full epochs at most; LinearSVC gets {SVC_ITERATIONS} times as many of its iterations"
    option("--max-iter", type=_positive, default=1000, metavar="N", help=most)
    option(
        "--repeats", type=_positive, default=1, metavar="N", help="fits, whose median time is reported"
    )
    option("--seed", type=int, default=0, help="random_state")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    return parser


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1. Got {value}.")
    return value


def chosen_data(parser, arguments, shipped=()):
    """Return the names of the data sets to run (`shipped` are scikit-learn's), or exit with code 2."""
    variable = real_data.VARIABLE
    if not os.environ.get(variable) and not shipped:
        parser.error(
            f"the environment variable {variable} must be set to the folder that holds the "
            "data sets (a9a/, w8a/, ...). Got no value."
        )
    available = [*real_data.available(), *shipped]
    for name in arguments.data or []:
        if name not in available:
            parser.error(
                f"--data must be among the sets whose files are all under {variable}: "
                f"{', '.join(available) or 'none'}. Got {name!r}."
            )
    small = (*SMALL, *shipped)
    names = arguments.data or [name for name in available if name in small or not arguments.quick]
    if not names:
        parser.error(f"the folder that {variable} names must hold data sets. Got none to run.")
    return names


@dataclass(frozen=True)
class Fit:
    """A fitted classifier, its data, the median of its seconds, and its ConvergenceWarning's words.

    Of a search for the largest tol also that tol, and whether it was good enough.
    """

    classifier: ClassifierMixin
    X: object
    y: np.ndarray
    seconds: float
    warning: str | None
    tol: float | None = None
    good: bool = True

    @property
    def scores(self):
        """Return y_k (w.x_k + bias) of every sample."""
        return self.y * self.classifier.decision_function(self.X)

    @property
    def row(self):
        """Return the numbers that are reported for every fit: dict."""
        return {
            "seconds": self.seconds,
            "n_epochs": int(self.classifier.n_iter_),
            "tol": self.tol,
            "warning": self.warning,
            "mark": ("!" if self.warning else "") + ("" if self.good else "<"),
        }


def timed(call):
    """Return the result of a call, and its processor seconds, in which other work counts little."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def least_time(call, repeats):
    """Return the last result of several calls, and the least processor seconds of one."""
    results, seconds = zip(*(timed(call) for _ in range(repeats)), strict=True)
    return results[-1], min(seconds)


def alternating(classifiers, call, turns):
    """Return the least processor seconds of a call for each classifier, in alternation (list)."""
    seconds = [math.inf] * len(classifiers)
    for _ in range(turns):
        for index, classifier in enumerate(classifiers):
            seconds[index] = min(seconds[index], timed(lambda: call(classifier))[1])  # noqa: B023
    return seconds


def timed_fit(make, X, y, repeats=1):
    """Fit `make()` `repeats` times, and return the Fit."""
    seconds, message = [], None
    for _ in range(repeats):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            classifier = make()
            seconds.append(timed(lambda: classifier.fit(X, y))[1])  # noqa: B023
        for warning in caught:
            if issubclass(warning.category, ConvergenceWarning):
                message = str(warning.message)
            else:
                warnings.warn(warning.message, stacklevel=2)
    return Fit(classifier, X, y, median(seconds), message)


def largest_tol(make, good, X, y, arguments):
    """Return the Fit of `make(tol)` with the largest tol of a grid for which `good(fit)` is true.

    A solver whose accuracy depends on tol is timed with the largest tol that reaches the accuracy.
    The grid has one significant digit: 10, 9, 8, ..., 1, 0.9, ... (with ``--quick`` the powers of ten
    only). The powers of ten are tried first, then the digits above the first good one. If none is
    good, or the iterations run out, it is the last fit, with ``good=False``.
    """
    for decade in DECADES:
        best = fit_at_tol(float(f"1e{decade}"), make, good, X, y)
        # Out of iterations: a smaller tol would begin with the same ones.
        if best.good or best.warning:
            break
    if best.good and decade < DECADES[0] and not arguments.quick:
        digits = (float(f"{digit}e{decade}") for digit in range(9, 1, -1))
        finer = (fit_at_tol(tol, make, good, X, y) for tol in digits)
        best = next((fit for fit in finer if fit.good), best)
    if arguments.repeats > 1:
        best = fit_at_tol(best.tol, make, good, X, y, arguments.repeats)
    return best


def fit_at_tol(tol, make, good, X, y, repeats=1):
    """Return the Fit of `make(tol)`."""
    fit = timed_fit(lambda: make(tol), X, y, repeats)
    return replace(fit, tol=tol, good=bool(good(fit)))


def number(value, digits=4):
    """Write a number with that many significant digits, also if they are 0; "-" for None."""
    if value is None:
        return "-"
    if value == 0 or not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - math.floor(math.log10(abs(value))), 0)}f}"


def paired(*titles):
    """Return the titles of pairs of columns, the paper's and ours."""
    return [half for title in titles for half in (f"{title}|paper", "|ours")]


def pair(row, key, digits, factor=1):
    """Return the paper's value, whose 0 at the end is cut, and ours, times `factor`: list of str."""
    values = [(row["paper"] or {}).get(key), row.get(key)]
    paper, ours = (None if value is None else factor * value for value in values)
    return ["-" if paper is None else f"{paper:.{digits}g}", number(ours, digits)]


def table(titles, rows):
    """Return columns under two lines of titles, "upper|lower"."""
    heads = [title.split("|") if "|" in title else ["", title] for title in titles]
    upper, lower, *body = aligned([*zip(*heads, strict=True), *rows]).split("\n")
    rule = "-" * max(map(len, [upper, lower, *body]))
    return "\n".join([upper, lower, rule, *body])


def cells_of(row):
    """Return the values of a row of results as text: numbers with three digits, "-" for None."""
    return [
        "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
        for value in row.values()
    ]


def print_rows(rows):
    """Print rows of results as a table of Markdown, each as soon as it comes: list of dict."""
    printed = []
    for row in rows:
        if not printed:
            print(markdown(row, []))
        print(f"| {' | '.join(cells_of(row))} |", flush=True)
        printed.append(row)
    return printed


def markdown(titles, rows):
    """Return a table of Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [titles, ["---"] * len(titles), *rows])


def environment():
    """Return the versions and the hardware that seconds depend on: dict of str."""
    return {
        "margins": margins.__version__,
        "scikit-learn": sklearn.__version__,
        "scipy": scipy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": str(os.cpu_count()),
    }


def print_environment():
    """Print the versions and the hardware."""
    print(", ".join(f"{name} {value}" for name, value in environment().items()) + "\n")


def present(parser, names, known, others):
    """Return which of the names (none: all known) have data, `others` always, and which have none."""
    for name in names:
        if name not in known:
            parser.error(f"names must be of {', '.join(known)}. Got {name}.")
    available = {*others, *real_data.available()}
    names = [*(names or known)]
    return [name for name in names if name in available], [
        name for name in names if name not in available
    ]


def run(parser, argv, source, reproduce, text, shipped=(), legend=LEGEND):
    """Run every data set in turn, report it as soon as it is done, and return their results.

    ``reproduce(name, arguments)`` returns the results of one set, a dict for the JSON; ``text`` makes of
    it a str for people. `shipped` are names of data sets of scikit-learn; `legend` explains the tables.
    """
    arguments = parser.parse_args(argv)
    names, results = chosen_data(parser, arguments, shipped), []
    try:
        write_json(arguments, source=source, data_sets=results)  # an error now, not after the runs
    except OSError as error:
        parser.error(f"--json must be a file that can be written. Got: {error}.")
    print(source)
    print_environment()
    print(legend)
    if arguments.quick:
        print("--quick: tol by powers of ten, so LinearSVC works more accurately than it must.")
    for name in names:
        results.append(reproduce(name, arguments))
        print(text(results[-1]), flush=True)
        write_json(arguments, source=source, data_sets=results)  # survives an interruption
    return results


def pyplot():
    """Return matplotlib.pyplot, which draws without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save_picture(parser, path, draw):
    """Write a picture by ``draw(path)``, and say where it is, or why there is none."""
    try:
        draw(path)
    except ImportError as error:
        print(f"No picture: matplotlib cannot be imported ({error}).")
    except OSError as error:
        parser.exit(1, f"No picture: {path} cannot be written ({error}).\n")
    else:
        print(f"The picture is in {path}.")


def write_json(arguments, **contents):
    """Write a report, if ``--json`` was given; what is not finite becomes null."""
    if arguments.json is None:
        return
    options = {name: value for name, value in vars(arguments).items() if name not in FILES}
    report = {**contents, "environment": environment(), "arguments": options}
    arguments.json.write_text(json.dumps(_finite(report), indent=1, allow_nan=False) + "\n")


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
