"""Tables 1 and 2 of "The Margin Perceptron with Unlearning": the L1-SVM with C = 1, without bias.

J(w) = |w|^2 / 2 + C sum_k max(0, 1 - w.y_k) is evaluated exactly, from `coef_`; "gap" is the relative
duality gap that the run itself has proven. mpu runs its own rules.

Table 1, high accuracy: mpu ends when it has proven eps = 1e-4, once with b chosen, as in the paper and
by default, for 1e-5, once for 1e-4 (`before_run`). LinearSVC (the paper's DCD) stops at the largest
tol of a grid whose J is within 1e-4 of the lower bound that the first mpu has proven.

Table 2, low accuracy: mpu ends when it has proven eps = 0.01, LinearSVC at the largest tol whose J is
within 1 % of the smallest J known.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting
from reporting import number

SOURCE = (
    "Panagiotakopoulos & Tsampouka (2010), The Margin Perceptron with Unlearning, ICML, Tables 1 and 2"
)
C = 1.0
HIGH, LOW = 1e-4, 0.01

# The paper's Adult, Web and Covertype: J, tol, CPU seconds (Core 2 Duo, 2.5 GHz).
PAPER_TABLE_1 = {
    "mpu": {
        "a9a": (11434.4, None, 0.4),
        "w8a": (6605.17, None, 0.1),
        "covtype": (340490.0, None, 22.2),
    },
    "LinearSVC": {
        "a9a": (11434.4, 0.06, 0.3),
        "w8a": (6605.15, 0.07, 0.1),
        "covtype": (340491.0, 0.08, 46.6),
    },
}
PAPER_TABLE_2 = {
    "mpu": {"a9a": (None, None, 0.1), "w8a": (None, None, 0.1), "covtype": (None, None, 6.2)},
    "LinearSVC": {"a9a": (None, None, 0.2), "w8a": (None, None, 0.1), "covtype": (None, None, 9.1)},
}
COARSE_RUN = "mpu, b for 1e-4"

FITS = 5  # for a data set
TITLES = ["algorithm", *reporting.paired("J", "tol", "seconds", "ratio"), "gap", "epochs", ""]


def objective(fit):
    """J of `coef_` as it is."""
    weights = fit.classifier.coef_[0]
    return float(weights @ weights / 2 + C * np.maximum(1 - fit.scores, 0).sum())


def fit_mpu(name, X, y, arguments, progress, **parameters):
    """Fit mpu: a row."""
    label = COARSE_RUN if "before_run" in parameters else "mpu"
    progress.step(f"{name} {label}")

    def make():
        return margins.get("mpu")(
            loss="hinge",
            C=C,
            fit_intercept=False,
            max_iter=arguments.max_iter,
            random_state=arguments.seed,
            **parameters,
        )

    fit = reporting.timed_fit(make, X, y, arguments.repeats)
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


def fit_competitor(name, X, y, arguments, progress, most):
    """Fit LinearSVC until its J is at most `most`: a row."""
    progress.step(f"{name} LinearSVC")

    def make(tol):
        return LinearSVC(
            loss="hinge",
            dual=True,
            C=C,
            fit_intercept=False,
            tol=tol,
            max_iter=reporting.SVC_ITERATIONS * arguments.max_iter,
            random_state=arguments.seed,
        )

    fit = reporting.largest_tol(make, lambda fit: objective(fit) <= most, X, y, arguments)
    return {
        "algorithm": "LinearSVC",
        "J": objective(fit),
        "gap": None,
        "target": most,
        "good": fit.good,
        **fit.row,
    }


def beside(rows, published, name):
    """Put the paper's numbers, and the seconds in units of LinearSVC's, into the rows."""
    competitor = rows[-1]
    for row in rows:
        row["ratio"] = row["seconds"] / competitor["seconds"]
        row["paper"] = None
        numbers = published.get(row["algorithm"], {}).get(name)
        if numbers:
            J, tol, seconds = numbers
            ratio = seconds / published["LinearSVC"][name][2]
            row["paper"] = {"J": J, "tol": tol, "seconds": seconds, "ratio": ratio}


def reproduce(name, arguments, progress):
    """Both tables of one data set: dict."""
    dataset = real_data.binary(name)
    problem = (name, dataset.X, dataset.y, arguments, progress)
    first = [fit_mpu(*problem, eps=HIGH), fit_mpu(*problem, eps=HIGH, before_run=HIGH)]
    first.append(fit_competitor(*problem, most=(1 + HIGH) * first[0]["dual"]))
    second = [fit_mpu(*problem, eps=LOW)]
    least = min(row["J"] for row in first + second)
    second.append(fit_competitor(*problem, most=(1 + LOW) * least))
    beside(first, PAPER_TABLE_1, name)
    beside(second, PAPER_TABLE_2, name)
    achieved = [row["paper"]["J"] for row in first if row["paper"]]
    return {
        "data": name,
        "n_samples": dataset.X.shape[0],
        "n_features": dataset.X.shape[1],
        "C": C,
        "optimum": {
            "ours": [
                max(row["dual"] for row in first + second if "dual" in row),
                min(row["J"] for row in first + second),
            ],
            "paper": [None, min(achieved)] if achieved else None,
        },
        "table_1": first,
        "table_2": second,
    }


def cells(row):
    """One line of a table."""
    return [
        row["algorithm"],
        *reporting.pair(row, "J", 8),
        *reporting.pair(row, "tol", 1),
        *reporting.pair(row, "seconds", 3),
        *reporting.pair(row, "ratio", 2),
        "-" if row["gap"] is None else f"{row['gap']:.1e}",
        str(row["n_epochs"]),
        row["mark"],
    ]


def text(result):
    """The report of one data set."""
    low, high = (number(bound, 8) for bound in result["optimum"]["ours"])
    lines = [
        f"\n{result['data']}: {result['n_samples']} x {result['n_features']}",
        f"smallest J, by ours: between {low} and {high}",
    ]
    if result["optimum"]["paper"]:
        lines[-1] += f"; by the paper: at most {number(result['optimum']['paper'][1], 6)}"
    for title, key in (("Table 1, eps = 1e-4", "table_1"), ("Table 2, eps = 0.01", "table_2")):
        lines += ["", title, reporting.table(TITLES, map(cells, result[key]))]
    return "\n".join(lines)


def main(argv=None):
    reporting.run(reporting.command_line(__doc__), argv, SOURCE, reproduce, text, FITS)


if __name__ == "__main__":
    main()
