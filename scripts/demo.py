"""The family on data that ships with scikit-learn: what each algorithm proves, and in what time.

    python scripts/demo.py [--out demo.png]

Every algorithm of `margins.available` whose default problem is LinearSVC()'s (C = 1, squared hinge
loss, a bias) solves it on three data sets, and so does LinearSVC. Printed: the margin achieved, the most
that any weight vector can have, and the proven share. Drawn, if matplotlib is there: the proven share
at the time of the fit, with the fastest proof in blue and LinearSVC in orange.
"""

import argparse
import math
import time
import warnings
from dataclasses import dataclass

import numpy as np
import reporting
import soft_margins
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

import margins
from margins.plotting.style import COLOURS, GRID

C = 1.0
FITS, SECONDS = 5, 0.1  # the fastest fit counts: of at most so many, begun within so much time
HEADER = "algorithm             margin   at most  proven      gap     updates  epochs  seconds  accuracy"


@dataclass(frozen=True)
class Result:
    """One row of the table, one dot of the picture."""

    name: str
    margin: float
    upper_bound: float
    proven: float
    gap: float
    n_updates: int | None
    n_epochs: int
    seconds: float
    accuracy: float
    converged: bool

    def __str__(self):
        name = self.name if self.converged else self.name + " *"
        updates = "-" if self.n_updates is None else self.n_updates
        return (
            f"{name:19} {self.margin:8.5f}  {_number(self.upper_bound, 8, 5)}  "
            f"{_number(self.proven, 6, 4)} {_number(self.gap, 8, 4)} {updates:>11} {self.n_epochs:7} "
            f"{self.seconds:8.4f}  {self.accuracy:8.4f}"
        )


def _number(value, width, decimals):
    return f"{value:{width}.{decimals}f}" if math.isfinite(value) else f"{'-':>{width}}"


def problems():
    """Return {title: (X, y)} of two classes, features in [0, 1]."""
    tumours, benign = load_breast_cancer(return_X_y=True)
    digits, labels = load_digits(return_X_y=True)
    digits, odd = digits / digits.max(), labels % 2
    pairs = PolynomialFeatures(2, include_bias=False).fit_transform(digits)
    return {
        "breast tumours, benign or not": (tumours / tumours.max(axis=0), benign),
        "digits, odd or even": (digits, odd),
        "digits with all pairs of pixels, odd or even": (pairs, odd),
    }


def family():
    """Return {name: class} of the algorithms that solve the problem by default, without aliases."""
    classes = {}
    for name in margins.available():
        algorithm = margins.get(name)
        default = algorithm()
        solves = (getattr(default, "loss", None), getattr(default, "C", None)) == ("squared_hinge", C)
        if solves and algorithm not in classes.values():
            classes[name] = algorithm
    return classes


def fastest(make, X, y):
    """Repeat a fit, and return the classifier, the least wall-clock seconds, and if it converged."""
    seconds = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        while len(seconds) < FITS and sum(seconds) < SECONDS:
            classifier = make()
            start = time.perf_counter()
            classifier.fit(X, y)
            seconds.append(time.perf_counter() - start)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return classifier, min(seconds), converged


def fit_algorithm(name, algorithm, X, y):
    classifier, seconds, converged = fastest(lambda: algorithm(C=C, random_state=0), X, y)
    certificate = classifier.certificates_[0]
    return Result(
        name,
        certificate.margin,
        certificate.upper_bound,
        certificate.fraction,
        certificate.gap,
        certificate.n_updates,
        classifier.n_iter_,
        seconds,
        classifier.score(X, y),
        converged,
    )


def fit_linear_svc(X, y):
    classifier, seconds, converged = fastest(lambda: LinearSVC(C=C, random_state=0), X, y)
    nothing = math.nan, math.nan, math.nan, None
    margin = margin_of(classifier, X, y)
    accuracy = classifier.score(X, y)
    return Result("LinearSVC", margin, *nothing, int(classifier.n_iter_), seconds, accuracy, converged)


def margin_of(classifier, X, y):
    """Return the soft margin of a weight vector at its best length, 1 / sqrt(2 primal)."""
    signs = np.where(y == classifier.classes_[1], 1, -1)
    return soft_margins.extended_margin(reporting.Fit(classifier, X, signs, math.nan, None), C)


def run(title, X, y):
    """Fit everything to one data set and print its table: list of Result, LinearSVC last."""
    print(f"{title}: {X.shape[0]} samples, {X.shape[1]} features, C = {C:g}")
    print(HEADER)
    results = []
    for name, algorithm in family().items():
        results.append(fit_algorithm(name, algorithm, X, y))
        print(results[-1], flush=True)
    bound = min(result.upper_bound for result in results)
    results.append(fit_linear_svc(X, y))
    print(results[-1])
    print(
        "LinearSVC proves nothing itself; the smallest bound above proves "
        f"{results[-1].margin / bound:.4f} of the maximum margin for it."
    )
    if not all(result.converged for result in results):
        print("* stopped by its max_iter before it had converged.")
    print()
    return results


EPS = 0.01  # the family's default


def draw(everything, path):
    """Draw the time and the proof of each fit, a panel per data set, and mark the fastest proof."""
    plt = reporting.pyplot()
    figure, panels = plt.subplots(
        1, len(everything), figsize=(15, 4.6), layout="constrained", squeeze=False
    )
    for axes, (title, results) in zip(panels[0], everything.items(), strict=True):
        _draw_panel(axes, sorted(results, key=lambda result: result.seconds))
        axes.set(xscale="log", xlabel="time of a fit (milliseconds)", title=title)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(axis="x", **GRID)
        axes.margins(x=0.25)
    figure.suptitle(
        f"What each fit proves of the maximum margin; blue: the fastest proof of {1 - EPS:.0%}"
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_panel(axes, results):
    winner = next((result for result in results if result.proven >= 1 - EPS), None)
    for row, result in enumerate(results):
        is_marked = result is winner or result.name == "LinearSVC"
        colour = COLOURS[0] if result is winner else COLOURS[1] if is_marked else "0.5"
        share = math.floor(1000 * result.proven) / 10 if result.proven >= 0 else None
        proof = "nothing" if share is None else f"{share:.1f} %"
        time = 1000 * result.seconds
        axes.plot(time, row, "o", color=colour, markersize=9 if is_marked else 6)
        weight = "bold" if is_marked else "normal"
        looks = {"textcoords": "offset points", "va": "center", "color": colour, "weight": weight}
        axes.annotate(proof, (time, row), (9, 0), fontsize="small", **looks)
    axes.set_yticks(range(len(results)), [result.name for result in results])
    axes.invert_yaxis()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="demo.png", metavar="FILE", help="the picture, default demo.png"
    )
    arguments = parser.parse_args()
    everything = {title: run(title, X, y) for title, (X, y) in problems().items()}
    reporting.save_picture(parser, arguments.out, lambda path: draw(everything, path))


if __name__ == "__main__":
    main()
