"""Figures 3 and 4 of Khardon & Wachman (2007), drawn from studies and from the rows of Table 5."""

from matplotlib.figure import Figure
from noise_tolerance_studies import AVERAGINGS
from noise_tolerance_tables import FEATURES, MARGIN

from margins.plotting import LandscapeDisplay
from margins.plotting.style import BAND, GRID, look

PANELS = 3  # in a row
DRAWN = (0.0, 0.25, 1.0, 4.0)  # of the values of tau in Figure 4
DPI = 100


def figure_3(studies):
    """Accuracy against tau on artificial data, a panel for each level of noise.

    Parameters
    ----------
    studies : dict of Study
        By noise; over tau and averaging.

    Returns
    -------
    matplotlib.figure.Figure
    """
    n_rows, n_columns = -(-len(studies) // PANELS), min(len(studies), PANELS)
    size = (max(8.5, 1.2 + 3.8 * n_columns), 1.0 + 2.9 * n_rows)
    figure = Figure(size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for ax in axes.flat[len(studies) :]:
        ax.remove()
    for ax, (noise, study) in zip(axes.flat, studies.items(), strict=False):
        display = LandscapeDisplay.from_study(study, x="tau", y="averaging", ax=ax)
        handles = ax.get_legend_handles_labels()
        ax.get_legend().remove()
        ax.set(title=f"noise {noise:g}", xlabel="tau (units of theta_init)")
        assert display.y.values == list(AVERAGINGS)
    n_folds = len(next(iter(studies.values())).tables[0].splits)
    figure.suptitle(
        f"Artificial data, f = {FEATURES}, M = {MARGIN:g}: accuracy of {n_folds}-fold cross-validation"
    )
    figure.legend(*handles, loc="outside lower center", ncols=len(handles[0]), frameon=False)
    return figure


def figure_4(result):
    """Learning curves of adult by tau, a panel for each averaging; the paper's from its Table 5.

    Parameters
    ----------
    result : dict
        The block of Table 5.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = Figure((13, 4.8), layout="constrained")
    axes = figure.subplots(1, len(AVERAGINGS), sharey=True)
    for ax, averaging in zip(axes, AVERAGINGS, strict=True):
        for index, tau in enumerate(DRAWN):
            rows = [row for row in result["rows"] if (row["tau"], row["averaging"]) == (tau, averaging)]
            sizes = [row["size"] for row in rows]
            looks = look(index)
            ax.plot(sizes, [row["accuracy"] for row in rows], label=f"tau = {tau:g}, ours", **looks)
            ends = zip(*(row["interval"] for row in rows), strict=True)
            ax.fill_between(sizes, *ends, color=looks["color"], alpha=BAND, linewidth=0)
            looks |= {"linestyle": ":", "markerfacecolor": "white"}
            paper = [row["paper"]["accuracy"] for row in rows]
            ax.plot(sizes, paper, label=f"tau = {tau:g}, paper", **looks)
        ax.fill_between([], [], color="0.5", alpha=BAND, label="95 % T interval, ours")
        ax.set(title=averaging, xscale="log", xlabel="size of the training set (samples)")
        ax.grid(**GRID)
    axes[0].set_ylabel("accuracy (%)")
    figure.suptitle("Adult: learning curves by tau and averaging")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


def save(figure, number, folder):
    """Write a PNG: its path."""
    file = folder / f"noise_tolerance_figure_{number}.png"
    figure.savefig(file, dpi=DPI)
    return file
