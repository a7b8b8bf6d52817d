"""Draw the processor time of this library relative to others, on every data set that was measured.

    python scripts/benchmarks/benchmark.py --algorithms auto --tasks a --json linear.json
    python scripts/benchmarks/benchmark_kernels.py --peers --json kernels.json
    python scripts/benchmarks/draw_ratios.py linear.json kernels.json --figure docs/_static/ratios.png

A point is a fit: left of 1, this library took less time to prove at least what the other one reached.
Where the other one did not reach the accuracy, there is a triangle at the left edge.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

LEFT = 0.01  # left end of the axis, for the other side's failures to reach the accuracy
OURS = "auto"
NAMES = {"LinearSVC, primal": "LinearSVC", "Intel": "SVC of Intel", "SVC": "SVC at its default tol"}


def points_of(path):
    """Return (label, other side, ratio or None) of every contest in a file: list of tuple."""
    contents = json.loads(Path(path).read_text(encoding="utf-8"))
    return kernel_points(contents) if isinstance(contents, list) else linear_points(contents)


def linear_points(contents):
    """Return the points of a file by benchmark.py."""
    points = []
    for data in contents["data_sets"]:
        for task in data["tasks"]:
            rows = {row["solver"]: row for row in task["rows"]}
            ours = rows.pop(OURS, None)
            if ours is None or not ours["reached"]:
                continue
            best = {}
            for solver, row in rows.items():
                name = NAMES.get(solver, solver)
                seconds = row["cpu_seconds"] if row["reached"] else None
                known = best.setdefault(name, seconds)
                if seconds is not None and (known is None or seconds < known):
                    best[name] = seconds
            label = f"{data['data']}, linear"
            points += [
                (label, name, None if seconds is None else ours["cpu_seconds"] / seconds)
                for name, seconds in best.items()
            ]
    return points


def kernel_points(rows):
    """Return the points of a file by benchmark_kernels.py."""
    points = []
    for row in rows:
        label = f"{row['data']}, rbf, C={row['C']:g}"
        ours = next(key for key in row if f"gap {key}" in row and key != "SVC")  # the first accuracy
        for name in ("SVC", "Intel", "ThunderSVM"):
            ratio = row[ours] if name == "SVC" else row.get(name)
            if ratio is not None:
                points.append((label, NAMES.get(name, name), ratio or None))
    return points


def draw(points, path):
    """Draw one row for each label, with one mark for each other side."""
    plt = reporting.pyplot()
    labels = list(dict.fromkeys(label for label, _, _ in points))
    others = list(dict.fromkeys(other for _, other, _ in points))
    figure, axes = plt.subplots(figsize=(7, 1.2 + 0.24 * len(labels)), layout="constrained")
    for index, other in enumerate(others):
        color = f"C{index}"
        of_other = [(ratio, labels.index(label)) for label, name, ratio in points if name == other]
        ratios = [ratio for ratio, _ in of_other if ratio]
        axes.plot(ratios, [row for ratio, row in of_other if ratio], "o", color=color, label=other)
        rows = [row for ratio, row in of_other if not ratio]
        axes.plot([LEFT] * len(rows), rows, "<", color=color)
    axes.set_ylim(-1, len(labels))
    axes.axvline(1, color="0.3", linewidth=1)
    axes.set_xscale("log")
    ticks = [LEFT, 0.05, 0.1, 0.2, 0.5, 1, 2]
    axes.set_xticks(ticks, ["not\nreached", *(f"{tick:g}" for tick in ticks[1:])])
    axes.set_xlim(LEFT * 0.8, 2.5)
    axes.minorticks_off()
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_xlabel("processor time of margins, proof included, over that of ...")
    figure.legend(loc="outside upper center", ncols=len(others), frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(argv=None):
    parser = reporting.parser_of(__doc__)
    parser.add_argument("files", nargs="+", metavar="JSON")
    parser.add_argument("--figure", required=True, metavar="PNG")
    arguments = parser.parse_args(argv)
    points = [point for file in arguments.files for point in points_of(file)]
    draw(points, arguments.figure)
    return points


if __name__ == "__main__":
    main()
