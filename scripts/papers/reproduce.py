"""Tables 1 and 2 of a paper on maximum margins, on any data set.

    MARGINS_DATA=folder python scripts/papers/reproduce.py maximum-margin [--data a9a] [--json FILE]

soft-margin: "The Margin Perceptron with Unlearning", the L1-SVM with C = 1, without bias. J(w) = |w|^2
/ 2 + C sum_k max(0, 1 - w.y_k) is evaluated exactly, from `coef_`; "gap" is the relative duality gap
that the run itself has proven. mpu runs its own rules.

Table 1, high accuracy: mpu ends when it has proven eps = 1e-4, once with b chosen, as in the paper and
by default, for 1e-5, once for 1e-4 (`before_run`). LinearSVC (the paper's DCD) stops at the largest
tol of a grid whose J is within 1e-4 of the lower bound that the first mpu has proven. Table 2, low
accuracy: mpu ends when it has proven eps = 0.01, LinearSVC at the largest tol whose J is within 1 % of
the smallest J known.

maximum-margin: "The Perceptron with Dynamic Margin". Every problem has C = 1 / (2 Delta^2), a bias by
augmentation with rho = 1, accuracy eps = 0.01. The algorithms run their own rules.

Table 1 runs the algorithms as the paper does, until a full epoch changes nothing, and gives the
directional margin of the final vector, min_k a.y_k / |a| (from `dual_coef_`). pfm is given the
margin that the algorithm above it has achieved. Table 2 ends them as the library does, when the accuracy
is proven, and gives the margin of `coef_`: 1 / sqrt(2 J) with J the squared-hinge objective at the best
length of the weight vector. LinearSVC stops at the largest tol of a grid whose margin is 99 % of the
best upper bound that our certificates prove (the unit of our ratios), and once more at tol = 0.01, as
the paper's DCD-L2 did (the unit of its ratios), which is more accurate. Its column "fraction" is of
that bound, ours of the run's own bound.
"""

import math
import sys
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting
import soft_margins
from reporting import number
from runs import PUBLISHED

HIGH, LOW = 1e-4, 0.01  # accuracies
AUTHORS = "Panagiotakopoulos & Tsampouka"
PAPER_SVC = "LinearSVC, 0.01"


class Reproduction:
    """The fits of both tables of a paper to a data set."""

    def __init__(self, name, arguments):
        dataset = real_data.binary(name)
        self.name, self.X, self.y = name, dataset.X, dataset.y
        self.arguments = arguments

    def fit(self, algorithm, **parameters):
        """Return the Fit of one of our algorithms."""
        common = {"max_iter": self.arguments.max_iter, "random_state": self.arguments.seed}
        return reporting.timed_fit(
            lambda: margins.get(algorithm)(**common | self.problem | parameters),
            self.X,
            self.y,
            self.arguments.repeats,
        )

    def fit_svc(self, good, tol=None, **parameters):
        """Return the Fit of LinearSVC at a tol, or at the largest tol that is good."""
        common = {"dual": True, "random_state": self.arguments.seed}
        common["max_iter"] = reporting.SVC_ITERATIONS * self.arguments.max_iter

        def make(tol):
            return LinearSVC(tol=tol, **common, **parameters)

        if tol is None:
            return reporting.largest_tol(make, good, self.X, self.y, self.arguments)
        return reporting.fit_at_tol(tol, make, good, self.X, self.y, self.arguments.repeats)

    def compared(self, rows, table, competitor, unit):
        """Put the paper's numbers, and the seconds in units of the competitor's, into the rows."""
        published = PUBLISHED[self.section]
        for row in rows:
            row["ratio"] = row["seconds"] / competitor["seconds"]
            row["paper"] = None
            figures = published[str(table)].get(row["algorithm"], {}).get(self.name)
            if figures:
                row["paper"] = {
                    key: None if math.isnan(figure) else figure * factor
                    for (key, factor), figure in zip(self.keys.items(), figures, strict=True)
                }
                row["paper"]["ratio"] = figures[-1] / published[unit[0]][unit[1]][self.name][-1]
        return rows

    def result(self):
        """Return the results of the data set: dict."""
        shape = {"n_samples": self.X.shape[0], "n_features": self.X.shape[1]}
        return {"data": self.name, **shape, **self.measured()}

    @classmethod
    def text(cls, result):
        """Return the report of one data set."""
        lines = [
            f"\n{result['data']}: {result['n_samples']} x {result['n_features']}",
            *cls.head(result),
        ]
        titles = ["algorithm", *reporting.paired(*cls.pairs), *cls.rest]
        for key, title in cls.tables.items():
            rows = [
                [
                    row["algorithm"],
                    *(text for spec in cls.pairs.values() for text in reporting.pair(row, *spec)),
                    *cls.texts_of_rest(row),
                ]
                for row in result[key]
            ]
            lines += ["", title, reporting.table(titles, rows)]
        return "\n".join(lines)


def objective(fit):
    """Return J of `coef_` as it is, with C = 1."""
    weights = fit.classifier.coef_[0]
    return float(weights @ weights / 2 + np.maximum(1 - fit.scores, 0).sum())


class SoftMargin(Reproduction):
    section = "soft-margin"
    source = f"{AUTHORS} (2010), The Margin Perceptron with Unlearning, ICML, Tables 1 and 2"
    problem = {"loss": "hinge", "C": 1.0, "fit_intercept": False}
    keys = {"J": 1, "tol": 1, "seconds": 1}
    tables = {"table_1": "Table 1, eps = 1e-4", "table_2": "Table 2, eps = 0.01"}
    pairs = {"J": ("J", 8), "tol": ("tol", 1), "seconds": ("seconds", 3), "ratio": ("ratio", 2)}
    rest = ("gap", "epochs", "")

    def mpu_row(self, label="mpu", **parameters):
        """Fit mpu, and return a row."""
        fit = self.fit("mpu", **parameters)
        certificate = fit.classifier.certificates_[0]
        return {
            "algorithm": label,
            "J": objective(fit),
            "gap": certificate.gap,
            "certified_J": certificate.primal,
            "dual": certificate.dual,
            "n_updates": certificate.n_updates,
            "converged": bool(fit.classifier.converged_),
            **parameters,
            **fit.row,
        }

    def svc_row(self, most):
        """Fit LinearSVC until its J is at most `most`, and return a row."""
        fit = self.fit_svc(lambda fit: objective(fit) <= most, **self.problem)
        row = {"algorithm": "LinearSVC", "J": objective(fit), "gap": None, "target": most}
        return row | {"good": fit.good, **fit.row}

    def measured(self):
        first = [self.mpu_row(eps=HIGH), self.mpu_row("mpu, b for 1e-4", eps=HIGH, before_run=HIGH)]
        first.append(self.svc_row((1 + HIGH) * first[0]["dual"]))
        second = [self.mpu_row(eps=LOW)]
        least = min(row["J"] for row in first + second)
        second.append(self.svc_row((1 + LOW) * least))
        self.compared(first, 1, first[-1], ("1", "LinearSVC"))
        self.compared(second, 2, second[-1], ("2", "LinearSVC"))
        best = min(row["J"] for row in first + second)
        optimum = [max(row["dual"] for row in first + second if "dual" in row), best]
        return {"C": 1.0, "optimum": optimum, "table_1": first, "table_2": second}

    @staticmethod
    def head(result):
        low, high = (number(bound, 8) for bound in result["optimum"])
        return [f"smallest J: between {low} and {high}"]

    @staticmethod
    def texts_of_rest(row):
        return ["-" if row["gap"] is None else f"{row['gap']:.1e}", str(row["n_epochs"]), row["mark"]]


def directional_margin(fit, delta):
    """Return min_k a.y_k / |a| of a = sum_k alpha_k y_k, every y_k with its slack term."""
    alpha = fit.classifier.dual_coef_[0]
    weights = fit.X.T @ (alpha * fit.y)
    bias = float(alpha @ fit.y)
    products = fit.y * (fit.X @ weights + bias) + delta**2 * alpha
    sqnorm = weights @ weights + bias**2 + delta**2 * (alpha @ alpha)
    return float(products.min() / math.sqrt(sqnorm))


class MaximumMargin(Reproduction):
    section = "maximum-margin"
    source = f"{AUTHORS} (2011), The Perceptron with Dynamic Margin, ALT, Tables 1 and 2"
    algorithms = ("mpu", "aggressive-romma", "pdm", "pdm-succ", "mpcs", "mpvs")  # of Table 2
    keys = {"margin": 1e-4, "n_updates": 1e6, "seconds": 1}
    tables = {"table_1": "Table 1, clean pass", "table_2": "Table 2, stopped by proof"}
    pairs = {
        "1e4 margin": ("margin", 5, 1e4),
        "1e-6 updates": ("n_updates", 4, 1e-6),
        "seconds": ("seconds", 3),
        "ratio": ("ratio", 2),
    }
    rest = ("fraction", "epochs", "tol", "")

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.radius = soft_margins.length_of_longest(self.X)
        self.delta, self.whose = soft_margins.delta_of(self.name, self.radius)
        self.C = 1 / (2 * self.delta**2)
        self.problem = {"C": self.C, "intercept_scaling": 1.0, "eps": LOW}

    def row_of(self, fit, algorithm, stop, margin):
        """Return what is reported of one of our fits: dict."""
        certificate = fit.classifier.certificates_[0]
        return {
            "algorithm": algorithm,
            "stop": stop,
            "margin": margin,
            "upper_bound": certificate.upper_bound,
            "fraction": margin / certificate.upper_bound,
            "certified_margin": certificate.margin,
            "certified_fraction": certificate.fraction,
            "n_updates": certificate.n_updates,
            "converged": bool(fit.classifier.converged_),
            **fit.row,
        }

    def clean_pass_rows(self):
        """Return the rows of Table 1."""
        rows = []
        for algorithm, follower in (("pdm", "pfm"), ("pdm-succ", "pfm(2)")):
            fit = self.fit(algorithm, stop="clean-pass")
            beta = directional_margin(fit, self.delta)
            rows.append(self.row_of(fit, algorithm, "clean-pass", beta))
            if beta > 0:  # always, unless max_iter came first
                fit = self.fit("pfm", gamma=beta / (1 - LOW))
                margin = directional_margin(fit, self.delta)
                rows.append({**self.row_of(fit, follower, "clean-pass", margin), "beta": beta})
        return rows

    def svc_row(self, algorithm, upper_bound, tol=None):
        """Fit LinearSVC, and return a row."""
        most = (1 - LOW) * upper_bound
        parameters = {"loss": "squared_hinge", "C": self.C, "intercept_scaling": 1.0}
        fit = self.fit_svc(
            lambda fit: soft_margins.extended_margin(fit, self.C) >= most, tol, **parameters
        )
        margin = soft_margins.extended_margin(fit, self.C)
        row = {"algorithm": algorithm, "margin": margin, "fraction": margin / upper_bound}
        return row | {"good": fit.good, **fit.row}

    def measured(self):
        first = self.clean_pass_rows()
        fits = {algorithm: self.fit(algorithm) for algorithm in self.algorithms}
        second = [
            self.row_of(fit, algorithm, "certificate", soft_margins.extended_margin(fit, self.C))
            for algorithm, fit in fits.items()
        ]
        reference = self.fit("mpu", eps=LOW / 10).classifier.certificates_[0]
        upper_bound = min(reference.upper_bound, *(row["upper_bound"] for row in first + second))
        svc = self.svc_row("LinearSVC", upper_bound)
        second[1:1] = [svc, self.svc_row(PAPER_SVC, upper_bound, tol=LOW)]
        for table, rows in enumerate((first, second), start=1):
            self.compared(rows, table, svc, ("2", PAPER_SVC))
        best = max(reference.margin, *(row["margin"] for row in first + second))
        return {
            "radius": self.radius,
            "delta": self.delta,
            "delta_is": self.whose,
            "C": self.C,
            "maximum": [best, upper_bound],
            "table_1": first,
            "table_2": second,
        }

    @staticmethod
    def head(result):
        lines = [
            f"R = {number(result['radius'])}, Delta = {result['delta']:g} ({result['delta_is']}), "
            f"C = {number(result['C'])}"
        ]
        low, high = (number(1e4 * bound, 6) for bound in result["maximum"])
        return [*lines, f"1e4 maximum margin: between {low} and {high}"]

    @staticmethod
    def texts_of_rest(row):
        tol = "" if row["tol"] is None else f"{row['tol']:g}"
        return [f"{row['fraction']:.5f}", str(row["n_epochs"]), tol, row["mark"]]


PAPERS = {paper.section: paper for paper in (SoftMargin, MaximumMargin)}


def reproduce(name, arguments):
    """Return the results of both tables of the paper that `arguments` name, for one data set: dict."""
    return PAPERS[arguments.paper](name, arguments).result()


def command_line():
    """Return the parser of the options."""
    parser = reporting.command_line(__doc__)
    parser.add_argument("paper", choices=PAPERS)
    return parser


def main(argv=None):
    """Reproduce the tables of a paper on the chosen data sets."""
    parser = command_line()
    paper = PAPERS[parser.parse_args(argv).paper]
    reporting.run(parser, argv, paper.source, reproduce, paper.text)


if __name__ == "__main__":
    main()
