"""Output of benchmark.py: tables, medians over the data sets, and the picture."""

import math
from pathlib import Path
from statistics import median

import numpy as np
import reporting
from reporting import number

TITLES = {
    "a": "(a) L1-SVM, C = 1, no intercept, within 1e-4",
    "b": "(b) L1-SVM, C = 1, no intercept, within 1 %",
    "c": "(c) 99 % of the maximum margin",
    "d": "(d) squared hinge, within 1e-3",
    "e": "(e) one-vs-rest, 99 % of each margin",
    "f": "(f) peak memory of a fit",
    "g": "(g) growth with the rows",
    "accuracy": "(accuracy) a fifth held out",
}
# The required ratios: for every data set, and in the median.
WANTED = {"a": (0.5, 0.33), "b": (0.5, 0.33), "c": (0.5, 0.33), "d": (0.5, 0.33), "e": (0.4, 0.4)}
WANTED_OF_OTHERS = {"c": (math.inf, 1.0)}
TIMES = ["solver", "wall s", "CPU s", "ratio", "CPU ratio", "to dual"]
COLUMNS = [*TIMES, "excess", "tol", "accesses a row", ""]
ACCURACY_COLUMNS = [*TIMES, "accuracy", "epochs", ""]
STYLES = {"auto": {"color": "#0072B2", "marker": "o"}, "LinearSVC": {"color": "#000000", "marker": "D"}}


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
    for found in result["tasks"]:
        lines.append("")
        title = TITLES[found["task"]] + (f", C = {number(found['C'], 3)}" if "C" in found else "")
        if found["task"] == "f":
            for memory in found["problems"]:
                lines += [f"{title}: {memory['loss']}", _memory_table(memory)]
        elif found["task"] == "g":
            lines.append(title)
            for size in found["sizes"]:
                lines += [f"{size['n_samples']} rows", _table(size, size["n_samples"])]
                lines.append(_memory_table(size["memory"]))
            lines.append(
                "seconds grow with the power of the rows: "
                + ", ".join(f"{name} {number(power, 3)}" for name, power in found["exponents"].items())
            )
        elif found["task"] == "accuracy":
            lines += [title, reporting.table(ACCURACY_COLUMNS, map(_accuracy_cells, found["rows"]))]
        else:
            if found["optimum"] is None:
                lines.append(f"{title}; no optimum was found in time")
            else:
                low, high = (number(bound, 7) for bound in found["optimum"])
                lines.append(f"{title}; optimum between {low} and {high}")
            lines.append(_table(found, result["n_samples"]))
            if found.get("speedup"):
                lines.append(f"two threads are {number(found['speedup'], 3)} times as fast as one")
    if "accesses" in result:
        lines.append("\nnanoseconds a row: ")
        lines[-1] += ", ".join(f"{name} {number(ns, 3)}" for name, ns in result["accesses"].items())
    return "\n".join(lines)


def _table(found, n_samples):
    return reporting.table(COLUMNS, [_cells(row, found, n_samples) for row in found["rows"]])


def _mark(row):
    return "" if row["reached"] and not row["message"] else f"! {row['message'] or ''}"[:60].rstrip()


def _times(row):
    keys = ("seconds", "cpu_seconds", "ratio", "cpu_ratio", "dual_ratio")
    return [row["solver"], *(number(row[key], 3) for key in keys)]


def _cells(row, found, n_samples):
    known = found["optimum"] and row["objective"] is not None and math.isfinite(row["objective"])
    accesses = row["n_accesses"]
    return [
        *_times(row),
        f"{row['objective'] / found['optimum'][1] - 1:.1e}" if known else "-",
        "" if row["tol"] is None else f"{row['tol']:g}",
        "-" if accesses is None else number(accesses / n_samples, 3),
        _mark(row),
    ]


def _accuracy_cells(row):
    accuracy, epochs = row["accuracy"], row["epochs"]
    return [
        *_times(row),
        "-" if accuracy is None else f"{accuracy:.4f}",
        "" if epochs is None else str(epochs),
        _mark(row),
    ]


def _memory_table(memory):
    rows = [
        [row["solver"], f"{row['bytes'] / 2**20:.2f}", number(row["of_X"], 3), number(row["vectors"], 3)]
        for row in memory["rows"]
    ]
    head = f"X has {memory['X'] / 2**20:.2f} MiB"
    columns = ["solver", "MiB beside X", "peak / X", "vectors beyond 15 %"]
    return "\n".join([head, reporting.table(columns, rows)])


def exponents(sizes):
    """Return the exponent with which seconds grow with the number of rows: {solver: float}."""
    rows = np.log([size["n_samples"] for size in sizes])
    found = {}
    for name in dict.fromkeys(row["solver"] for size in sizes for row in size["rows"]):
        seconds = [
            next((row["seconds"] for row in size["rows"] if row["solver"] == name), None)
            for size in sizes
        ]
        if all(seconds):
            found[name] = float(np.polyfit(rows, np.log(seconds), 1)[0])
    return found


def summary(results):
    """Over all data sets: the median and the largest ratio of each of our algorithms, and a verdict."""
    ratios = {}
    for result in results:
        for found in result["tasks"]:
            for row in found.get("rows", ()):
                if row["kind"] == "ours":
                    key = found["task"], row["solver"]
                    item = row["ratio"], row["cpu_ratio"], row["dual_ratio"], result["data"]
                    ratios.setdefault(key, []).append(item)
    rows = []
    for (task, solver), items in sorted(ratios.items()):
        known = [item for item in items if item[0] is not None]
        wanted = (WANTED if solver.startswith("auto") else WANTED_OF_OTHERS).get(task)
        cells = [task, solver, f"{len(known)} of {len(items)}"]
        if known:
            worst = max(known, key=lambda item: item[0])
            middle = median(item[0] for item in known)
            to_dual = [item[2] for item in known if item[2] is not None]
            cells += [number(middle, 3), number(median(item[1] for item in known), 3)]
            cells += [number(median(to_dual), 3) if to_dual else "-", number(worst[0], 3), worst[3]]
            if wanted is not None:
                good = worst[0] <= wanted[0] and middle <= wanted[1] and len(known) == len(items)
                cells.append("as wanted" if good else "NOT as wanted")
        rows.append([*cells, *[""] * (9 - len(cells))])
    if not rows:
        return ""
    columns = ["task", "solver", "known", "median", "CPU median", "to dual", "largest", "of", ""]
    return "\nRatios to LinearSVC, over data sets\n" + reporting.table(columns, rows)


# ------------------------------------------------------------------------------------------- picture


def add_figure(parser):
    """Add the option for the picture."""
    parser.add_argument(
        "--figure", type=Path, metavar="PNG", help="draw the objective's gap against seconds"
    )


def draw_if_asked(parser, argv, results):
    """Draw, and print where the picture is, or why there is none."""
    path = parser.parse_args(argv).figure
    if path is not None:
        reporting.save_picture(parser, path, lambda path: draw(results, path))


def draw(results, path):
    """A panel for every data set and problem: the gap against the seconds of a whole fit, both sides."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    titles = list(results[0]["curves"])
    figure, panels = plt.subplots(
        len(results),
        len(titles),
        figsize=(5 * len(titles), 3.2 * len(results)),
        layout="constrained",
        squeeze=False,
    )
    for row, result in zip(panels, results, strict=True):
        for axes, title in zip(row, titles, strict=True):
            for name, points in result["curves"][title]["sides"].items():
                points = [point for point in points if 0 < point["gap"] < 10]
                axes.loglog(
                    [point["seconds"] for point in points],
                    [point["gap"] for point in points],
                    label=name,
                    markersize=4,
                    **STYLES[name],
                )
            axes.set_title(f"{result['data']}: {title}", fontsize=9)
            axes.grid(color="0.9", linewidth=0.6)
    for axes in panels[-1]:
        axes.set_xlabel("seconds of a whole fit")
    for axes in panels[:, 0]:
        axes.set_ylabel("objective / smallest - 1")
    panels[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
