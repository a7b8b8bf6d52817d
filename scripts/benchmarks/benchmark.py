"""The algorithms of this library against LIBLINEAR, at equal accuracy, on every available data set.

    MARGINS_DATA=... python scripts/benchmarks/benchmark.py [--quick] [--tasks a c] [--json FILE]

Whole ``fit`` calls, as users make them, of both sides to the same CSR matrix of float64, in one process,
on one thread, in alternation: the median of the repeats after one to warm up, each repeat a fit or, of
short ones, as many as last 10 ms. LinearSVC is tuned in its favour: by the largest tol of a grid that
reaches the required accuracy, with the dual or the primal solver, whichever is faster. The accuracy of a
solver is computed here, from its weights (contests.py). Algorithms of this library also prove it, within
their measured time.

    a  the L1-SVM, C = 1, no intercept, objective within 1e-4 of the optimum
    b  the same within 1 %
    c  99 % of the maximum soft margin, rho = 1, the papers' Delta or R / 10;
       also pdm, mpcs and mpvs
    d  LinearSVC's default problem, C = 0.01, 1, 100, objective within 1e-3
    e  one-vs-rest, all classes, C = 1, to 99 % of each margin, with one thread and two
       (mnist, digits, or what --data names)
    g  c's seconds at 1/16, 1/4 and all of the rows (covtype, news20, or what --data names)
    accuracy  SGDClassifier and Perceptron, with the fewest epochs that predict as well as auto

Data sets are all sets of real_data.py, and two that scikit-learn ships. If a value exceeds 10, as in
raw data, every feature is divided by its largest value (MaxAbsScaler), as is recommended to users.
"""

import math
import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import contests
import peers
import real_data
import report_benchmark
import reporting
import soft_margins

SOURCE = "margins against LIBLINEAR"
TASKS = (*"abcdeg", "accuracy")
SHIPPED = {"digits": load_digits, "breast-cancer": load_breast_cancer}
MANY_CLASSES = ("mnist", "digits")
GROWING = ("covtype", "news20")
EPS = 0.01
MARGIN_GAP = 1 / (1 - EPS) ** 2 - 1  # gap of the objective if the margin is 99 % of the maximum
RAW = 10.0
FRACTIONS = (1 / 16, 1 / 4, 1)
FITS = 1


def prepared(X):
    """Return X as CSR matrix of float64, raw values scaled to [-1, 1]."""
    X = sparse.csr_matrix(X, dtype=np.float64)
    return X if abs(X).max() <= RAW else sparse.csr_matrix(MaxAbsScaler().fit_transform(X))


def load(name):
    """Return X, the labels -1 and 1 of the binary task, and the original labels."""
    if name not in SHIPPED:
        return prepared(real_data.binary(name).X), real_data.binary(name).y, real_data.load(name).y
    X, classes = SHIPPED[name](return_X_y=True)
    half = (classes.max() + 1) // 2
    return prepared(X), np.where(classes < half, 1, -1), classes


class Benchmark:
    """All tasks of one data set."""

    def __init__(self, name, arguments, others):
        self.name, self.arguments, self.others = name, arguments, others
        self.X, self.y, self.classes = load(name)

    def l1_svm(self):
        """Return the problem of (a) and (b)."""
        return peers.Problem(self.X, self.y, "hinge", 1.0, intercept=False)

    def maximum_margin(self, rows=None):
        """Return the problem of (c), with all rows or some rows."""
        X, y = (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
        delta, _ = soft_margins.delta_of(self.name, soft_margins.length_of_longest(self.X))
        return peers.Problem(X, y, "squared_hinge", 1 / (2 * delta**2), best_length=True)

    def squared_hinge(self, C):
        """Return LinearSVC's default problem."""
        return peers.Problem(self.X, self.y, "squared_hinge", C)

    def named(self, *more):
        """Return the requested algorithms of this library as arguments of `contests.contest`."""
        return {name: (name, {}) for name in dict.fromkeys((*self.arguments.algorithms, *more))}

    def contest(self, problem, gap, ours=None, others=None):
        """Run the contest of all solvers of a problem: dict."""
        ours = {
            label: spec
            for label, spec in (self.named() if ours is None else ours).items()
            if peers.solved_by(spec[0], problem)
        }
        result = contests.contest(
            problem, gap, ours, self.arguments, self.others if others is None else others
        )
        return {"C": problem.C, **result}

    def task_a(self):
        yield self.contest(self.l1_svm(), 1e-4)

    def task_b(self):
        yield self.contest(self.l1_svm(), 0.01)

    def task_c(self):
        yield self.contest(self.maximum_margin(), MARGIN_GAP, self.named("pdm", "mpcs", "mpvs"))

    def task_d(self):
        for C in (0.01, 1.0, 100.0):
            yield self.contest(self.squared_hinge(C), 1e-3)

    def task_e(self):
        if self.name in MANY_CLASSES or self._asked_for() and len(np.unique(self.classes)) > 2:
            problem = peers.Problem(self.X, self.classes, "squared_hinge", 1.0)
            ours = {f"auto, n_jobs={n_jobs}": ("auto", {"n_jobs": n_jobs}) for n_jobs in (1, 2)}
            result = self.contest(problem, MARGIN_GAP, ours, others=())
            one, two = (row["seconds"] for row in result["rows"][:2])
            yield {**result, "speedup": one / two if one and two else None}

    def task_g(self):
        if self.name in GROWING or self._asked_for():
            order = np.random.default_rng(self.arguments.seed).permutation(self.X.shape[0])
            sizes = []
            for fraction in FRACTIONS:
                rows = np.sort(order[: math.ceil(fraction * len(order))])
                problem = self.maximum_margin(rows)
                result = self.contest(problem, MARGIN_GAP, others=())
                sizes.append({"n_samples": len(rows), **result})
            yield {"sizes": sizes, "exponents": report_benchmark.exponents(sizes)}

    def task_accuracy(self):
        yield contests.accuracy_contest(self.X, self.y, self.arguments)

    def _asked_for(self):
        return self.arguments.data is not None


def run(name, arguments, progress, others=()):
    """Return the requested results for one data set: dict."""
    benchmark = Benchmark(name, arguments, others)
    result = {
        "data": name,
        "n_samples": benchmark.X.shape[0],
        "n_features": benchmark.X.shape[1],
        "n_nonzero": int(benchmark.X.nnz),
        "tasks": [],
    }
    progress.step(name)
    with threadpool_limits(1):
        for task in arguments.tasks:
            for found in getattr(benchmark, f"task_{task}")():
                result["tasks"].append({"task": task, **found})
    return result


def chosen(parser, arguments):
    """Return the names of the requested data sets, or of all available ones."""
    available = [*real_data.available(), *SHIPPED]
    for name in arguments.data or []:
        if name not in available:
            parser.error(f"--data must be among {', '.join(available)}. Got {name!r}.")
    if arguments.data:
        return arguments.data
    quick = (*reporting.SMALL, *SHIPPED)
    return [name for name in available if name in quick or not arguments.quick]


def command_line():
    parser = reporting.command_line(__doc__)
    parser.set_defaults(repeats=5)
    option = parser.add_argument
    option("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    option(
        "--algorithms", nargs="+", default=["auto"], metavar="NAME", help="algorithms of this library"
    )
    option("--limit", type=float, default=300.0, metavar="SECONDS", help="a longer fit is given up")
    option("--without-others", action="store_true", help="only ours and scikit-learn's")
    return parser


def main(argv=None):
    parser = command_line()
    others, missing = ([], {}) if parser.parse_args(argv).without_others else peers.installed()
    legend = report_benchmark.legend(others, missing)

    def one(name, arguments, progress):
        return run(name, arguments, progress, others)

    text = report_benchmark.text
    results = reporting.run(parser, argv, SOURCE, one, text, FITS, choose=chosen, legend=legend)
    print(report_benchmark.summary(results))


if __name__ == "__main__":
    main()
