"""Draw how the gap falls with time, and how memory grows with the samples: docs/benchmarks.md.

    MARGINS_DATA=folder python scripts/benchmarks/draw_scaling.py --figure docs/_static/scaling.png

Left: fits of Adult (a9a) with the squared hinge loss, C=1, at many accuracies: processor seconds, the
least of `--turns`, against how far the objective is above the optimum, relative to it. LinearSVC has
both of its methods. The largest dual value of all our fits stands for the optimum.

Right: the peak of resident memory of a process that fits dense float64 samples of 50 features, from a
file, less what it was before it read them. "Chunks" is `Chunks.of_rows` of a memory map. Needs Linux.
"""

import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

import margins
from margins.plotting.style import COLOURS, GRID

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting

ACCURACIES = [10.0**-k for k in range(1, 9)]
ROWS = (100_000, 200_000, 400_000, 800_000)
N_FEATURES = 50
CHILD = """
import json, re, sys
import numpy as np
import sklearn.svm, margins
from margins.data.chunks import Chunks
kind, folder = sys.argv[1:]
def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
before = kilobytes("VmRSS")
X = np.load(folder + "/X.npy", mmap_mode="r" if kind == "chunks" else None)
y = np.load(folder + "/y.npy")
if kind == "chunks":
    margins.MarginClassifier(eps=1e-3).fit(Chunks.of_rows(X, y))
elif kind == "margins":
    margins.MarginClassifier(eps=1e-3).fit(X, y)
else:
    sklearn.svm.LinearSVC(dual=False).fit(X, y)
print(json.dumps(1024 * (kilobytes("VmHWM") - before)))
"""


def curve(makers, X, y, turns):
    """Return seconds, objective and dual value (or nan) of each classifier: ndarray of shape (n, 3)."""
    rows = []
    for make in makers:
        fitted, seconds = reporting.least_time(lambda: make().fit(X, y), turns)  # noqa: B023
        w = np.append(fitted.coef_, fitted.intercept_)
        slack = np.maximum(0, 1 - y * (X @ w[:-1] + w[-1]))
        certificates = getattr(fitted, "certificates_", None)
        dual = certificates[0].dual if certificates else math.nan
        rows.append([seconds, w @ w / 2 + slack @ slack, dual])
    return np.array(rows)


def gap_curves(turns):
    """Return arrays of seconds and relative excess over the optimum, by name."""
    data = real_data.binary("a9a")
    X, y = data.X, data.y
    sides = {
        "margins": [
            lambda eps=eps: margins.MarginClassifier(eps=eps, random_state=0) for eps in ACCURACIES
        ],
        "LinearSVC, dual": [
            lambda tol=tol: LinearSVC(tol=tol, dual=True, max_iter=3000, random_state=0)
            for tol in ACCURACIES[:4]
        ],
        "LinearSVC, primal": [lambda tol=tol: LinearSVC(tol=tol, dual=False) for tol in ACCURACIES],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curves = {name: curve(makers, X, y, turns) for name, makers in sides.items()}
    optimum = np.nanmax(curves["margins"][:, 2])
    return {name: np.c_[rows[:, 0], rows[:, 1] / optimum - 1] for name, rows in curves.items()}


def memory_curves():
    """Return the peak memory at each of ROWS, by name."""
    rng = np.random.default_rng(0)
    curves = {"LinearSVC, primal": [], "margins": [], "margins, chunks": []}
    kinds = {"LinearSVC, primal": "linearsvc", "margins": "margins", "margins, chunks": "chunks"}
    for n_rows in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            X = rng.normal(size=(n_rows, N_FEATURES))
            y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n_rows) > 0, 1, -1)
            np.save(f"{folder}/X.npy", X)
            np.save(f"{folder}/y.npy", y)
            del X
            for name, kind in kinds.items():
                command = [sys.executable, "-c", CHILD, kind, folder]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                curves[name].append(json.loads(done.stdout))
    return curves


def draw(gaps, memories, path):
    """Draw both panels."""
    plt = reporting.pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    for index, (name, rows) in enumerate(gaps.items()):
        shown = rows[rows[:, 1] > 1e-14]
        left.loglog(shown[:, 0], shown[:, 1], "osD"[index], color=COLOURS[index], label=name)
    left.set(xlabel="processor seconds", ylabel="objective above the optimum, relative")
    for index, (name, values) in enumerate(memories.items()):
        right.plot(
            np.array(ROWS) / 1000,
            np.array(values) / 2**20,
            marker="Do^"[index],
            color=COLOURS[(2, 0, 4)[index]],
            label=name,
        )
    size = np.array(ROWS) * N_FEATURES * 8 / 2**20
    right.plot(np.array(ROWS) / 1000, size, color="0.5", linestyle=":", label="the samples themselves")
    right.set(xlabel="thousand samples of 50 features", ylabel="peak of memory (MiB)", ylim=(0, None))
    for ax in (left, right):
        ax.grid(**GRID)
        ax.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=None):
    """Measure, draw, and print the numbers."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--figure", required=True, metavar="PNG")
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    options = parser.parse_args(arguments)
    gaps, memories = gap_curves(options.turns), memory_curves()
    for name, rows in gaps.items():
        print(name, " ".join(f"{seconds:.3f}s:{gap:.1e}" for seconds, gap in rows))
    for name, values in memories.items():
        print(name, [round(value / 2**20) for value in values], "MB")
    draw(gaps, memories, options.figure)


if __name__ == "__main__":
    main()
