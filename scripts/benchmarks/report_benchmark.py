"""Output of benchmark.py: tables, and medians over the data sets."""

import math
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
    "g": "(g) growth with the rows",
    "accuracy": "(accuracy) a fifth held out",
}
TIMES = ["solver", "wall s", "CPU s", "ratio", "CPU ratio", "to dual"]
COLUMNS = [*TIMES, "excess", "tol", "accesses a row", ""]
ACCURACY_COLUMNS = [*TIMES, "accuracy", "epochs", ""]


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
        if found["task"] == "g":
            lines.append(title)
            for size in found["sizes"]:
                lines += [f"{size['n_samples']} rows", _table(size, size["n_samples"])]
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
    """Return the median and the largest ratio of each of our algorithms over all data sets."""
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
        cells = [task, solver, f"{len(known)} of {len(items)}"]
        if known:
            worst = max(known, key=lambda item: item[0])
            middle = median(item[0] for item in known)
            to_dual = [item[2] for item in known if item[2] is not None]
            cells += [number(middle, 3), number(median(item[1] for item in known), 3)]
            cells += [number(median(to_dual), 3) if to_dual else "-", number(worst[0], 3), worst[3]]
        rows.append([*cells, *[""] * (8 - len(cells))])
    if not rows:
        return ""
    columns = ["task", "solver", "known", "median", "CPU median", "to dual", "largest", "of"]
    return "\nRatios to LinearSVC, over data sets\n" + reporting.table(columns, rows)
