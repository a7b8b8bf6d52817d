"""Figures 3 and 4 of Khardon & Wachman (2007): accuracy against tau, and learning curves.

    MARGINS_DATA=folder python scripts/papers/noise_tolerance_figures.py [--figures 3] [--out DIR]

Figure 3 needs no files: one artificial data set for each level of noise. Figure 4 is Table 5 for one
order of adult, and the paper's Table 5 beside it. The paper's own figures are not in the copy that we
have: these show what its text says of them. `paper_tables.py` measures every table.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from margins.model_selection import t_interval
from margins.plotting import LandscapeDisplay
from margins.plotting.style import BAND, GRID, look

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting
import runs
from noise_tolerance import Draws, artificial, data, permuted, sizes_of

FIGURES = (3, 4)
SEED = int(np.random.SeedSequence(0).generate_state(1)[0])
PANELS = 3  # in a row
DRAWN = (0.0, 0.25, 1.0, 4.0)  # values of tau in Figure 4
DPI = 100


def studies_by_noise(draws):
    """Return the Study over tau and averaging of an artificial data set, by its level of noise."""
    levels = [float(name.removeprefix(runs.NOISE)) for name in runs.PUBLISHED["4"]]
    return {
        noise: draws.margins(*permuted(*artificial(noise, SEED), SEED), runs.DEFAULT_RUN, runs.FOLDS)
        for noise in levels
    }


def learning_curves(draws):
    """Return accuracies on adult in percent, by (tau, averaging).

    The columns of an array are the size, the mean accuracy, and the ends of its 95 % T interval.
    """
    X, y = permuted(*data("adult"), SEED)
    curves = {}
    for size in sizes_of(y, runs.FOLDS):
        (table,) = draws.margins(X, y, runs.ADULT_RUN, runs.FOLDS, size).tables
        for setting, scores in zip(table.settings, table.scores["accuracy"], strict=True):
            point = [size, 100 * scores.mean(), *t_interval(100 * scores)]
            curves.setdefault((setting["tau"], setting["averaging"]), []).append(point)
    return {key: np.array(points) for key, points in curves.items()}


def figure_3(studies):
    """Draw accuracy against tau on artificial data, a panel for each level of noise."""
    n_rows, n_columns = -(-len(studies) // PANELS), min(len(studies), PANELS)
    size = (max(8.5, 1.2 + 3.8 * n_columns), 1.0 + 2.9 * n_rows)
    figure = Figure(size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for ax in axes.flat[len(studies) :]:
        ax.remove()
    for ax, (noise, study) in zip(axes.flat, studies.items(), strict=False):
        LandscapeDisplay.from_study(study, x="tau", y="averaging", ax=ax)
        handles = ax.get_legend_handles_labels()
        ax.get_legend().remove()
        ax.set(title=f"noise {noise:g}", xlabel="tau (units of theta_init)")
    n_folds = len(next(iter(studies.values())).tables[0].splits)
    kind = f"Artificial data, f = {runs.FEATURES}, M = {runs.MARGIN:g}"
    figure.suptitle(f"{kind}: accuracy of {n_folds}-fold cross-validation")
    figure.legend(*handles, loc="outside lower center", ncols=len(handles[0]), frameon=False)
    return figure


def figure_4(curves):
    """Draw learning curves of adult by tau, a panel for each averaging; the paper's from its Table 5."""
    figure = Figure((13, 4.8), layout="constrained")
    axes = figure.subplots(1, len(runs.AVERAGINGS), sharey=True)
    for ax, averaging in zip(axes, runs.AVERAGINGS, strict=True):
        for index, tau in enumerate(DRAWN):
            sizes, accuracies, *ends = curves[tau, averaging].T
            looks = look(index)
            ax.plot(sizes, accuracies, label=f"tau = {tau:g}, ours", **looks)
            ax.fill_between(sizes, *ends, color=looks["color"], alpha=BAND, linewidth=0)
            looks |= {"linestyle": ":", "markerfacecolor": "white"}
            published = dict(zip(runs.SIZES, runs.PUBLISHED["5"][f"{tau:g}"][averaging], strict=True))
            paper = [published[size] for size in sizes]
            ax.plot(sizes, paper, label=f"tau = {tau:g}, paper", **looks)
        ax.fill_between([], [], color="0.5", alpha=BAND, label="95 % T interval, ours")
        ax.set(title=averaging, xscale="log", xlabel="size of the training set (samples)")
        ax.grid(**GRID)
    axes[0].set_ylabel("accuracy (%)")
    figure.suptitle("Adult: learning curves by tau and averaging")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


def main(argv=None):
    """Draw the figures that are requested."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--figures", nargs="+", type=int, choices=FIGURES, default=FIGURES)
    option("--n-jobs", type=int, default=1, metavar="N", help="threads; -1: all CPUs")
    option("--out", type=Path, default=Path(), metavar="DIR", help="folder of the PNGs")
    arguments = parser.parse_args(argv)
    if 4 in arguments.figures and not runs.present("adult"):
        parser.error(
            f"--figures 4 needs the files of a9a in the folder that {real_data.VARIABLE} names. "
            f"Got {os.environ.get(real_data.VARIABLE) or 'no folder'}."
        )
    arguments.out.mkdir(parents=True, exist_ok=True)
    draws = Draws(arguments.n_jobs)
    makers = {3: lambda: figure_3(studies_by_noise(draws)), 4: lambda: figure_4(learning_curves(draws))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's runs have fixed epochs
        for number in arguments.figures:
            file = arguments.out / f"noise_tolerance_figure_{number}.png"
            makers[number]().savefig(file, dpi=DPI)
            print(f"Figure {number}: {file}")


if __name__ == "__main__":
    main()
