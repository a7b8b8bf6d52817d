"""The algorithms of this library against LIBLINEAR, at equal accuracy, on every available data set.

    MARGINS_DATA=... python scripts/benchmarks/benchmark.py [--quick] [--tasks a c] [--json FILE]

Whole ``fit`` calls, as users make them, of both sides to the same CSR matrix of float64, in one process,
in alternation: the median of the repeats after one to warm up, each repeat a fit or, of
short ones, as many as last 10 ms. LinearSVC is tuned in its favour: by the largest tol of a grid that
reaches the required accuracy, with the dual or the primal solver, whichever is faster. The accuracy of a
solver is computed here, from its weights (contests.py). Algorithms of this library also prove it, within
their measured time.

    a  the L1-SVM, C = 1, no intercept, objective within 1e-4 of the optimum
    b  the same within 1 %
    c  99 % of the maximum soft margin, rho = 1, the papers' Delta or R / 10;
       also pdm, mpcs and mpvs
    d  LinearSVC's default problem, C = 0.01, 1, 100, objective within 1e-3

Data sets are all sets of real_data.py, and two that scikit-learn ships. If a value exceeds 10, as in
raw data, every feature is divided by its largest value (MaxAbsScaler), as is recommended to users.
"""

import functools
import math
import sys
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import MaxAbsScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import contests
import peers
import real_data
import reporting
import soft_margins
from reporting import number

SOURCE = "margins against LIBLINEAR"
TITLES = {
    "a": "(a) L1-SVM, C = 1, no intercept, within 1e-4",
    "b": "(b) L1-SVM, C = 1, no intercept, within 1 %",
    "c": "(c) 99 % of the maximum margin",
    "d": "(d) squared hinge, within 1e-3",
}
SHIPPED = {"digits": load_digits, "breast-cancer": load_breast_cancer}
MARGIN_GAP = 1 / 0.99**2 - 1  # gap of the objective if the margin is 99 % of the maximum
RAW = 10.0
COLUMNS = (
    *("solver", "wall s", "CPU s", "ratio", "CPU ratio", "to dual"),
    *("excess", "tol", "accesses a row", ""),
)


def prepared(X):
    """Return X as CSR matrix of float64, raw values scaled to [-1, 1]."""
    X = sparse.csr_matrix(X, dtype=np.float64)
    return X if abs(X).max() <= RAW else sparse.csr_matrix(MaxAbsScaler().fit_transform(X))


def load(name):
    """Return X and the labels -1 and 1 of a data set."""
    if name not in SHIPPED:
        X, y = real_data.binary(name)[1:3]
        return prepared(X), y
    X, classes = SHIPPED[name](return_X_y=True)
    return prepared(X), np.where(classes < (classes.max() + 1) // 2, 1, -1)


def problems_of(name):
    """Return the problems of a data set: dict of (task, Problem, gap), by task and C."""
    X, y = load(name)
    delta, _ = soft_margins.delta_of(name, soft_margins.length_of_longest(X))
    l1_svm = peers.Problem(X, y, "hinge", 1.0, intercept=False)
    margin = peers.Problem(X, y, "squared_hinge", 1 / (2 * delta**2), best_length=True)
    problems = {"a": ("a", l1_svm, 1e-4), "b": ("b", l1_svm, 0.01), "c": ("c", margin, MARGIN_GAP)}
    for C in (0.01, 1.0, 100.0):
        problems[f"d, C={C:g}"] = "d", peers.Problem(X, y, "squared_hinge", C), 1e-3
    return problems


def run(name, arguments, others=()):
    """Return the requested results for one data set: dict."""
    problems, tasks = problems_of(name), []
    for task, problem, gap in problems.values():
        if task in arguments.tasks:
            names = (*arguments.algorithms, *(("pdm", "mpcs", "mpvs") if task == "c" else ()))
            ours = [name for name in dict.fromkeys(names) if peers.solved_by(name, problem)]
            result = contests.contest(problem, gap, ours, arguments, others)
            tasks.append({"task": task, "C": problem.C, **result})
    X = problem.X
    shape = {"n_samples": X.shape[0], "n_features": X.shape[1], "n_nonzero": int(X.nnz)}
    return {"data": name, **shape, "tasks": tasks}


def legend(others, missing):
    """Return the meaning of the tables, the solvers and the missing packages."""
    lines = [
        "ratio: to the seconds of the faster LinearSVC, dual or primal.   to dual: to the dual's.",
        "excess: of the objective, over the smallest one known.",
        "!: has not reached what is required, or was not timed further.",
        f"others: {', '.join(solver.name for solver in others) or 'none'}",
    ]
    lines += [f"not here: {package} ({why})" for package, why in missing.items()]
    return "\n".join(lines)


def text(result):
    """Return the report of one data set."""
    lines = [
        f"\n{result['data']}: {result['n_samples']} x {result['n_features']}, "
        f"{result['n_nonzero'] / result['n_samples']:.1f} non-zeros a row"
    ]
    for task in result["tasks"]:
        title = f"{TITLES[task['task']]}, C = {number(task['C'], 3)}"
        if task["optimum"] is None:
            lines += ["", f"{title}; no optimum was found in time"]
        else:
            low, high = (number(bound, 7) for bound in task["optimum"])
            lines += ["", f"{title}; optimum between {low} and {high}"]
        rows = [_cells(row, task["optimum"], result["n_samples"]) for row in task["rows"]]
        lines.append(reporting.table(COLUMNS, rows))
    return "\n".join(lines)


def _cells(row, optimum, n_samples):
    """Return a line of a table: list of str."""
    times = (row[key] for key in ("seconds", "cpu_seconds", "ratio", "cpu_ratio", "dual_ratio"))
    is_known = optimum and row["objective"] is not None and math.isfinite(row["objective"])
    accesses, is_good = row["n_accesses"], row["reached"] and not row["message"]
    return [
        row["solver"],
        *(number(value, 3) for value in times),
        f"{row['objective'] / optimum[1] - 1:.1e}" if is_known else "-",
        "" if row["tol"] is None else f"{row['tol']:g}",
        "-" if accesses is None else number(accesses / n_samples, 3),
        "" if is_good else f"! {row['message'] or ''}"[:60].rstrip(),
    ]


def summary(results):
    """Return the median and the largest ratio of each of our algorithms over all data sets."""
    ratios = {}
    for result in results:
        for task in result["tasks"]:
            for row in task["rows"]:
                if row["kind"] == "ours":
                    item = row["ratio"], row["cpu_ratio"], row["dual_ratio"], result["data"]
                    ratios.setdefault((task["task"], row["solver"]), []).append(item)
    rows = []
    for (task, solver), items in sorted(ratios.items()):
        known = [item for item in items if item[0] is not None]
        cells = [task, solver, f"{len(known)} of {len(items)}"]
        if known:
            largest = max(known, key=lambda item: item[0])
            middles = [_median(item[column] for item in known) for column in range(3)]
            cells += [*middles, number(largest[0], 3), largest[3]]
        rows.append([*cells, *[""] * (8 - len(cells))])
    columns = ["task", "solver", "known", "median", "CPU median", "to dual", "largest", "of"]
    return "\nRatios to LinearSVC, over data sets\n" + reporting.table(columns, rows) if rows else ""


def _median(values):
    values = [value for value in values if value is not None]
    return number(median(values), 3) if values else "-"


def main(argv=None):
    """Run the contests of all data sets, and print a summary."""
    parser = reporting.command_line(__doc__)
    parser.set_defaults(repeats=5)
    option = parser.add_argument
    option("--tasks", nargs="+", choices=TITLES, default=list(TITLES), metavar="TASK")
    option(
        "--algorithms", nargs="+", default=["auto"], metavar="NAME", help="algorithms of this library"
    )
    option("--limit", type=float, default=300.0, metavar="SECONDS", help="a longer fit is given up")
    option("--without-others", action="store_true", help="only ours and scikit-learn's")
    others, missing = ([], {}) if parser.parse_args(argv).without_others else peers.installed()
    one = functools.partial(run, others=others)
    legends = legend(others, missing)
    results = reporting.run(parser, argv, SOURCE, one, text, shipped=SHIPPED, legend=legends)
    print(summary(results))


if __name__ == "__main__":
    reporting.in_both_environments(main)
