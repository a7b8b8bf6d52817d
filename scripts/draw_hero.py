"""Draw the picture at the top of README.md: what a certificate says, and how fast fits are.

    python scripts/draw_hero.py --figure docs/_static/hero.png

Left: samples in the plane, the widest gap that the fit has found (grey) and the limit that no gap can
exceed (dashed), early and at the end. Middle: both, epoch by epoch. Right: ratios of processor time,
from the first table of docs/benchmarks.md. A second file, hero_narrow.png, has the same for telephones.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import reporting
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.plotting import MarginDisplay
from margins.plotting.style import COLOURS

EARLY = 2  # epochs
BENCHMARKS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
# Other side, number of problems, median of the ratios, smallest and largest.
ROW = re.compile(r"^\| (.+) \| (\d+) \| ([\d.]+) \| ([\d.]+), ([\d.]+).* \| \d+ \|$", re.MULTILINE)


def problem():
    """Return two classes in the plane with a gap between them: X, centred, and y."""
    X, y = make_blobs(60, centers=[[-1.3, -0.9], [1.3, 0.9]], cluster_std=0.55, random_state=4)
    return X - X.mean(axis=0), np.where(y == 1, 1, -1)


def fit(X, y, epochs):
    """Return a fit of the perceptron with dynamic margin that ends after some epochs."""
    classifier = margins.get("pdm-succ")(
        C=np.inf, fit_intercept=False, eps=0.002, max_iter=epochs, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that it ends early is what is shown
        return classifier.fit(X, y)


def draw_gap(ax, X, y, classifier, title):
    """Draw samples, the hyperplane, the gap achieved, and the width that no gap can exceed."""
    MarginDisplay.from_estimator(classifier, X, y, ax=ax)
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[])
    ax.set_title(title)


def draw_bounds(ax, classifier):
    """Draw the margin achieved and its limit, after the epochs that end with a certificate."""
    certified = [epoch for epoch in classifier.learning_curve_[0] if epoch.certificate is not None]
    epochs = [epoch.epoch for epoch in certified]
    achieved = [epoch.certificate.margin for epoch in certified]
    limits = [epoch.certificate.upper_bound for epoch in certified]
    ax.fill_between(epochs, achieved, limits, color="0.88")
    ax.plot(epochs, limits, "--o", color="0.3", markersize=3, label="no margin is larger")
    ax.plot(epochs, achieved, "-o", color=COLOURS[0], markersize=3, label="margin achieved")
    ax.set(xlabel="epoch", xticks=epochs)
    ax.set_title("the two bounds meet")
    ax.legend(frameon=False)


def draw_times(ax):
    """Draw a row for each other library: the range of the ratios, and their median."""
    rows, names = ROW.findall(BENCHMARKS.read_text(encoding="utf-8")), []
    for row, (name, _, *ratios) in enumerate(rows):
        names.append(re.sub(r" \(.*\)| [\d.]+|`", "", name))  # without its version
        median, smallest, largest = map(float, ratios)
        ax.hlines(row, smallest, largest, color=COLOURS[row], linewidth=6, alpha=0.4)
        ax.plot(median, row, "o", color=COLOURS[row], markersize=10)
        ax.annotate(ratios[0], (median, row - 0.22), ha="center", va="bottom")
    ax.axvline(1, color="0.3", linewidth=1)
    ax.set(xscale="log", ylim=(len(rows) - 0.6, -0.8), xlabel="dot: median; line: whole range")
    ticks = [0.02, 0.1, 0.5, 1, 2]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(rows)), names)
    ax.set_title("processor time: margins / theirs")


def draw(path):
    """Draw the whole picture, and a narrow one beside it."""
    plt = reporting.pyplot()
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 11})
    X, y = problem()
    early, final = fit(X, y, EARLY), fit(X, y, 1000)
    wide = {"mosaic": "abcd", "figsize": (11, 3.2), "width_ratios": [1, 1, 1.15, 1.3]}
    narrow = {"mosaic": "ab;cc;dd", "figsize": (4.2, 7)}
    for options, file in ((wide, path), (narrow, path.with_stem(f"{path.stem}_narrow"))):
        figure, axes = plt.subplot_mosaic(layout="constrained", **options)
        draw_gap(axes["a"], X, y, early, f"after {EARLY} epochs:\ngap and its limit")
        draw_gap(axes["b"], X, y, final, "at the end:\nthey are equal")
        draw_bounds(axes["c"], final)
        draw_times(axes["d"])
        figure.savefig(file, dpi=150)
        plt.close(figure)


def main(argv=None):
    """Read the command line and draw."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--figure", type=Path, required=True, metavar="PNG")
    draw(parser.parse_args(argv).figure)


if __name__ == "__main__":
    main()
