"""Draw the picture at the top of README.md: what a certificate says, and how fast fits are.

    python scripts/draw_hero.py linear.json kernels.json --figure docs/_static/hero.png

Left: samples in the plane, the widest gap that the fit has found (grey) and the limit that no gap can
exceed (dashed), early and at the end. Middle: both, epoch by epoch. Right: ratios of processor time,
from files of `scripts/benchmarks/benchmark.py` and `benchmark_kernels.py`; see `draw_ratios.py`.
A second file, hero_narrow.png, has the same for telephones, two by two.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.plotting import MarginDisplay
from margins.plotting.style import COLOURS

sys.path.insert(0, str(Path(__file__).resolve().parent / "benchmarks"))

import draw_ratios
import reporting

EARLY = 2  # epochs
RIVALS = {
    "LinearSVC": "LIBLINEAR\n(LinearSVC)",
    "SVC at its default tol": "LIBSVM\n(SVC)",
    "SVC of Intel": "Intel's SVC",
    "Snap ML": "Snap ML",
}


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
    ax.set_title(title, fontsize=9)


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
    ax.set_title("the two bounds meet", fontsize=9)
    ax.legend(frameon=False, fontsize=8)


def draw_times(ax, points):
    """Draw a row of dots for each other library, one dot for each problem."""
    names = [name for name in RIVALS if any(rival == name for _, rival, _ in points)]
    rng, counts = np.random.default_rng(0), {}
    for row, name in enumerate(names):
        # Problems on which the other side has not reached the accuracy have no ratio.
        ratios = np.array([ratio for _, rival, ratio in points if rival == name and ratio])
        counts[name] = len(ratios)
        heights = row + rng.uniform(-0.18, 0.18, len(ratios))
        ax.scatter(ratios, heights, color=COLOURS[row], s=14)
        ax.plot([np.median(ratios)] * 2, [row - 0.3, row + 0.3], color="k", linewidth=1.5)
    ax.axvline(1, color="0.3", linewidth=1)
    ax.set_xscale("log")
    ticks = [0.02, 0.05, 0.2, 0.5, 1, 2]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(names)), [f"{RIVALS[name]}, {counts[name]}" for name in names], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("processor time of margins / theirs", fontsize=8)
    ax.set_title("dot: a problem; bar: median", fontsize=9)


def draw(points, path):
    """Draw the whole picture, and a narrow one beside it."""
    plt = reporting.pyplot()
    X, y = problem()
    early, final = fit(X, y, EARLY), fit(X, y, 1000)
    wide = {"figsize": (11, 3), "gridspec_kw": {"width_ratios": [1, 1, 1.15, 1.3]}}
    narrow_path = path.with_stem(f"{path.stem}_narrow")
    for shape, options, file in (((1, 4), wide, path), ((2, 2), {"figsize": (5.6, 5.4)}, narrow_path)):
        figure, axes = plt.subplots(*shape, layout="constrained", **options)
        first, second, third, fourth = axes.ravel()
        draw_gap(first, X, y, early, f"gap and its limit, {EARLY} epochs")
        draw_gap(second, X, y, final, "at the end: they are equal")
        draw_bounds(third, final)
        draw_times(fourth, points)
        figure.savefig(file, dpi=130)
        plt.close(figure)


def main(argv=None):
    """Read the ratios and draw."""
    points, figure = draw_ratios.points_and_figure(__doc__, argv)
    draw(points, Path(figure))


if __name__ == "__main__":
    main()
