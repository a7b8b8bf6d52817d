"""All algorithms that prove an accuracy, against each other: Adult and Web, to 99 % of the maximum.

    MARGINS_DATA=... python scripts/papers/compare_algorithms.py [--limit 60] [--json FILE] [--out PNG]

Every registered algorithm that reaches any accuracy for the squared hinge loss, plug-ins too, is fitted
as the papers compare them: Delta = 1, that is C = 0.5, a bias by augmentation with rho = 1, accuracy
eps = 0.01. The fit ends with the proof; with
--limit a slow one ends about then, with what it has proven, and is marked. LinearSVC is fitted as in
reproduce_maximum_margin.py: at the largest tol that gives 99 % of the smallest upper bound that the
algorithms have proven, and at tol = 0.01, the papers' DCD.

At the end the papers' ordering is checked for the available algorithms: ROMMA slower than PDM
by orders of magnitude, MPCS and MPVS faster than PDM, MPU and DCD the fastest.
"""

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import margins
from margins.estimators.maximum_margin import MaximumMarginClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting
import reproduce_maximum_margin as reproduction
import soft_margins
from reporting import number

SOURCE = (
    "Panagiotakopoulos & Tsampouka (2011), The Perceptron with Dynamic Margin, ALT; "
    "(2012), The Role of Weight Shrinking in Large Margin Perceptron Learning"
)
SETS = ("a9a", "w8a")  # Adult and Web
QUICK_SETS = ("promoters",)
DELTA = 1.0
DCD = reproduction.PAPER_SVC
TITLES = [
    *("algorithm", "1e4 margin", "1e4 at most", "fraction", "updates", "epochs", "seconds", "ratio"),
    *("tol", ""),
]


def family():
    """{name: class} of the algorithms that prove an accuracy for the squared hinge; no aliases."""
    classes = {}
    for name in margins.available():
        try:
            algorithm = margins.get(name)
        except ImportError as error:
            print(f"left out: {error}")
            continue
        if (
            issubclass(algorithm, (MaximumMarginClassifier, margins.MarginClassifier))
            and algorithm().loss == "squared_hinge"
            and algorithm not in classes.values()
        ):
            classes[name] = algorithm
    return classes


# ---------------------------------------------------------------------------------------------- fits


class Problem(reproduction.Problem):
    """A data set with Delta = 1."""

    def __init__(self, name, arguments, progress):
        super().__init__(name, arguments, progress)
        self.delta, self.whose = DELTA, "the papers' for Adult and Web"
        self.C = 1 / (2 * DELTA**2)

    def fit_within(self, algorithm, limit):
        """Fit an algorithm for about `limit` seconds at most, None for no limit: Fit.

        The time is limited by the number of epochs: few at first, then more, as far as the seconds of
        the last attempt allow. Only the last attempt is reported.
        """
        most = self.arguments.max_iter
        epochs = most if limit is None else 1
        while True:
            fit = self.fit(algorithm, max_iter=epochs)
            room = math.inf if limit is None else limit / max(fit.seconds, 1e-9)
            if fit.classifier.converged_ or epochs >= most or room < 1.5:
                return fit
            epochs = min(most, max(epochs + 1, int(epochs * min(room, 4.0))))


def compare(name, arguments, progress):
    """All fits to one data set: dict."""
    problem = Problem(name, arguments, progress)
    rows = []
    for algorithm in family():
        fit = problem.fit_within(algorithm, arguments.limit)
        margin = soft_margins.extended_margin(fit, problem.C)
        row = reproduction.row_of(fit, algorithm, "certificate", margin)
        rows.append({**row, "proven": bool(fit.classifier.converged_)})
    upper_bound = min(row["upper_bound"] for row in rows)
    svc = problem.competitor_rows(upper_bound)
    rows += [{**row, "upper_bound": None, "n_updates": None, "proven": row["good"]} for row in svc]
    for row in rows:
        row["ratio"] = row["seconds"] / svc[1]["seconds"]
    rows.sort(key=lambda row: (not row["proven"], row["seconds"]))
    return {
        "data": name,
        "n_samples": problem.X.shape[0],
        "n_features": problem.X.shape[1],
        "delta": problem.delta,
        "C": problem.C,
        "eps": reproduction.EPS,
        "limit": arguments.limit,
        "upper_bound": upper_bound,
        "algorithms": rows,
        "ordering": [{"claim": claim.text, **claim.judge(rows)} for claim in CLAIMS],
    }


# ---------------------------------------------------------------------------------- the papers' ordering


@dataclass(frozen=True)
class Claim:
    """That some algorithms are faster than others, by a factor; `slow` None: than all others."""

    text: str
    fast: tuple
    slow: tuple | None
    factor: float = 1.0

    def judge(self, rows):
        """{"holds": True, False or None, "because": str}, None if nothing can be said."""
        seconds = {row["algorithm"]: row["seconds"] for row in rows}
        proven = {row["algorithm"]: row["proven"] for row in rows}
        fast = [name for name in self.fast if name in seconds]
        slow = list(seconds) if self.slow is None else [name for name in self.slow if name in seconds]
        # LinearSVC at the largest tol is DCD once more.
        slow = [name for name in slow if name not in fast and (self.slow or name != "LinearSVC")]
        if not fast or not slow:
            missing = ", ".join((self.slow or ("the others",)) if fast else self.fast)
            return {"holds": None, "because": f"none of {missing} is here"}
        pairs = [(one, other) for one in fast for other in slow]
        ratios = {pair: seconds[pair[1]] / seconds[pair[0]] for pair in pairs}

        def sentence(pair):
            least = "" if proven[pair[1]] else "at least "
            return f"{pair[1]} took {least}{number(ratios[pair], 3)} times the seconds of {pair[0]}"

        against, open_ = [], []
        for pair in pairs:
            one, other = proven[pair[0]], proven[pair[1]]
            if ratios[pair] > self.factor:
                # A fast one that is not done yet may still become a slow one.
                if not one:
                    open_.append(pair)
            elif other:
                against.append(pair)  # a fast one that is not done yet will only take longer
            else:
                open_.append(pair)
        if against:
            return {"holds": False, "because": sentence(min(against, key=ratios.get))}
        if open_:
            names = {name for pair in open_ for name in pair if not proven[name]}
            return {"holds": None, "because": f"without their proofs: {', '.join(sorted(names))}"}
        return {"holds": True, "because": "at the closest, " + sentence(min(pairs, key=ratios.get))}


ROMMA = ("aggressive-romma", "romma")
CLAIMS = (
    Claim("ROMMA is slower than PDM by orders of magnitude", ("pdm",), ROMMA, 10.0),
    Claim("MPCS and MPVS are faster than PDM", ("mpcs", "mpvs"), ("pdm",)),
    Claim("MPU and DCD are the fastest", ("mpu", DCD), None),
)


# --------------------------------------------------------------------------------------------- reports


def cells(row):
    """One line of the table."""
    bound, updates = row["upper_bound"], row["n_updates"]
    return [
        row["algorithm"],
        number(1e4 * row["margin"], 5),
        "-" if bound is None else number(1e4 * bound, 5),
        f"{row['fraction']:.5f}",
        "-" if updates is None else str(updates),
        str(row["n_epochs"]),
        number(row["seconds"], 3),
        number(row["ratio"], 3),
        "" if row["tol"] is None else f"{row['tol']:g}",
        row["mark"],
    ]


def text(result):
    """The report of one data set."""
    limit = "" if result["limit"] is None else f", about {result['limit']:g} s a fit at most"
    lines = [
        f"\n{result['data']}: {result['n_samples']} x {result['n_features']}, Delta = "
        f"{result['delta']:g}, C = {result['C']:g}, eps = {result['eps']:g}{limit}",
        "fraction: of the algorithm's own bound; of LinearSVC, of the smallest one.",
        reporting.table(TITLES, map(cells, result["algorithms"])),
        "",
        "The papers' ordering, among the algorithms present:",
    ]
    verdicts = {True: "holds", False: "does NOT hold", None: "cannot be said"}
    for claim in result["ordering"]:
        lines.append(f"  {claim['claim']}: {verdicts[claim['holds']]} ({claim['because']})")
    return "\n".join(lines)


# Okabe & Ito's colours, distinguishable with colour blindness, as are the shapes.
STYLES = {
    "proven": {"color": "#0072B2", "marker": "o"},
    "ended before its proof": {"color": "#D55E00", "marker": "X"},
    "LinearSVC": {"color": "#000000", "marker": "D"},
}
REACH = 3.0  # per cent of the smallest bound on either side; what lies beyond is at the edge


def style_of(row):
    """Its label in the legend: a key of `STYLES`."""
    if row["algorithm"].startswith("LinearSVC"):
        return "LinearSVC"
    return "proven" if row["proven"] else "ended before its proof"


def draw(results, path):
    """Two panels a data set: the proven interval of each algorithm's margin, and its seconds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = max(len(result["algorithms"]) for result in results)
    figure, panels = plt.subplots(
        len(results),
        2,
        figsize=(11, len(results) * (1.6 + 0.32 * rows)),
        layout="constrained",
        squeeze=False,
    )
    for (left, right), result in zip(panels, results, strict=True):
        _draw_intervals(left, result)
        _draw_seconds(right, result)
    handles = {}
    for axes in panels.flat:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(
        "Between the margin achieved (symbol) and the upper bound (bar) lies the maximum margin"
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _rows(axes, result):
    rows = result["algorithms"]
    axes.set_yticks(range(len(rows)), [f"{row['algorithm']} {row['mark']}".rstrip() for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    return enumerate(rows)


def _draw_intervals(axes, result):
    best = result["upper_bound"]
    axes.axvspan(-100 * result["eps"], 0, color="0.93", label=f"within {result['eps']:.0%}")
    for y, row in _rows(axes, result):
        label = style_of(row)
        low = max(100 * (row["margin"] / best - 1), -REACH)
        if row["upper_bound"] is not None:
            high = min(100 * (row["upper_bound"] / best - 1), REACH)
            axes.plot([low, high], [y, y], color=STYLES[label]["color"], linewidth=2)
            axes.plot(high, y, "|", color=STYLES[label]["color"], markersize=12, markeredgewidth=2)
        axes.plot(low, y, linestyle="none", label=label, **STYLES[label])
    axes.set_xlim(-1.05 * REACH, 1.05 * REACH)
    axes.set(title=f"{result['data']}: margin", xlabel="relative to the smallest upper bound (%)")


def _draw_seconds(axes, result):
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    for y, row in _rows(axes, result):
        axes.plot(row["seconds"], y, linestyle="none", **STYLES[style_of(row)])
        axes.annotate(
            number(row["seconds"], 3) + ("" if row["proven"] else " and more"),
            (row["seconds"], y),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * (high / low) ** 0.25)  # space for the numbers
    axes.set(title=f"{result['data']}: time", xlabel="seconds of the processor")


def _positive(value):
    seconds = float(value)
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be in (0, inf). Got {value}.")
    return seconds


def main(argv=None):
    parser = reporting.command_line(__doc__)
    parser.add_argument("--limit", type=_positive, metavar="SECONDS", help="for each fit, about")
    parser.add_argument("--out", type=Path, metavar="PNG", help="draw a picture")
    arguments = parser.parse_args(argv)
    if arguments.data is None:
        parser.set_defaults(data=list(QUICK_SETS if arguments.quick else SETS))
    fits = len(family()) + 2
    results = reporting.run(parser, argv, SOURCE, compare, text, fits)
    if arguments.out is not None:
        reporting.save_picture(parser, arguments.out, lambda path: draw(results, path))


if __name__ == "__main__":
    main()
