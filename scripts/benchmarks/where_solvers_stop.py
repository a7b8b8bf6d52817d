"""Where other solvers stop at their defaults, proven by `margins.certify`: docs/where_solvers_stop.md.

    python scripts/benchmarks/where_solvers_stop.py --folder FOLDER [--only mlpack] [--figure PNG]

FOLDER gets an environment for each program, with pinned versions from the package index, and keeps the
results: a row runs again if --only names it. R, e1071, kernlab and Java are those of the system.
A cell is (objective of the returned model - proven lower bound) / lower bound, of the problem that the
program says it solves, with C=1. "tight" has C=0.3 and a tight tolerance: a small gap shows that C,
features, intercept and signs are read as the program means them. Its samples are `max` or, for programs
that do not come close if the optimum has samples on the kink of the hinge loss, `seven`, which has none.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting
from where_solvers_stop_programs import TRANSFORMED

PROGRAMS = Path(__file__).with_name("where_solvers_stop_programs.py")
LIMIT = 120  # seconds of a run, unless its row has another limit
TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SETS = ("raw", "max", "std", "splice", "a9a")
SEVEN = [[3, 1], [2, 1], [2, 0], [2, 1], [0, 3], [3, 4], [1, 1]], [1, -1, 1, -1, -1, -1, -1]
DEFAULTS = {"c": "C", "scaling": "", "scores": "positive for the second label"}
DEFAULTS |= {"check": "max", "limit": LIMIT}
ROWS = [SimpleNamespace(**{**DEFAULTS, **fields}) for fields in TABLE["rows"]]
for row in ROWS:
    row.label = f"{row.name}, {row.settings}"


def data_sets():
    """Return the data sets that are there: dict of (X, y), labels -1 and 1."""
    X, y = load_breast_cancer(return_X_y=True)
    y, std = 2 * y - 1, (X - X.mean(axis=0)) / X.std(axis=0)
    sets = {
        "seven": tuple(map(np.array, SEVEN)),
        "raw": (X, y),
        "max": (X / X.max(axis=0), y),
        "std": (std, y),
    }
    for name in {"splice", "a9a"} & set(real_data.available()):
        data = real_data.binary(name)
        sets[name] = data.X.toarray() if hasattr(data.X, "toarray") else data.X, data.y
    return sets


def python_of(folder, name):
    """Return the Python of a program's environment, made if it is not there."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        pins = TABLE["environments"][name]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pins], check=True)
    return python


def gap_of(row, solution, X, y, C, tight):
    """Return the proven gap of a solution of the problem of a row."""
    X, coef, intercept = TRANSFORMED[row.scaling](X), solution["coef"][None], solution["intercept"][None]
    loss, of_intercept, *kernel = row.problem.split(", ")
    problem = {"loss": loss.replace(" ", "_")}
    if of_intercept != "none":
        problem["penalize_intercept"] = of_intercept == "penalised"
    if kernel:
        problem |= {"kernel": "rbf", "gamma": 1 / X.shape[1]}
    if row.environment in ("h2o", "torchkm"):
        # Their coefficients are no dual variables: weights of features that have this kernel matrix.
        squares, vectors = np.linalg.eigh(rbf_kernel(X, gamma=problem["gamma"]))
        roots = np.sqrt(np.maximum(squares, 0))
        X, coef = vectors * roots, roots * (coef @ vectors)
        problem = {"loss": "hinge", "penalize_intercept": False}
        if row.environment == "h2o" and tight:  # without its intercept, which is not the best one
            scores = X @ coef[0]
            kinks = y - scores
            losses = np.maximum(0, 1 - y * (scores + kinks[:, None])).sum(axis=1)
            intercept = kinks[[losses.argmin()]]
    solution = coef, intercept if of_intercept != "none" else None
    return margins.certify(solution, X, y, C=C, accuracy=1e-7, **problem).certificates[0].gap


def measured(row, folder, X, y, tight):
    """Return the gap of a row, or None if it ran out of time, and what it warned of."""
    C = 0.3 if tight else 1.0
    source, target = folder / "samples.npz", folder / "solution.npz"
    np.savez(source, X=X, y=y, C=C, tight=tight)
    command = [python_of(folder, row.environment), PROGRAMS, json.dumps(row.call), source, target]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=row.limit)
    except subprocess.TimeoutExpired:
        return {"gap": None, "said": [], "limit": row.limit}
    if done.returncode:
        raise RuntimeError(f"{row.name} {row.settings}:\n{done.stderr[-2000:]}")
    with np.load(target) as solution:
        return {"gap": gap_of(row, solution, X, y, C, tight), "said": solution["said"].tolist()}


def cell(found):
    """Return a gap as text; * if the program warned, and > for a run that was ended."""
    if found is None:
        return ""
    mark = "*" if "ConvergenceWarning" in found["said"] else ""
    return f"{found['gap']:.1e}{mark}" if found["gap"] is not None else f"> {found['limit']} s"


def tables(results, names):
    """Return both tables as Markdown."""
    lines = [f"| program | settings | {' | '.join(names)} |", "| --- | --- |" + " --- |" * len(names)]
    others = ["| program | settings | our C | features | intercept | scores | checked on | gap |"]
    others.append("| --- |" + " --- |" * 7)
    for row in ROWS:
        found, begin = results.get(row.label, {}), f"| {row.name} | `{row.settings}` |"
        lines.append(" ".join([begin, *(f"{cell(found.get(name))} |" for name in names)]))
        facts = row.c, row.scaling or "as they are", row.problem.split(", ")[1], row.scores
        others.append(
            " ".join(
                [
                    begin,
                    *(f"{fact} |" for fact in facts),
                    f"`{row.check}` | {cell(found.get('tight'))} |",
                ]
            )
        )
    return "\n".join(lines), "\n".join(others)


def draw(results, names, path):
    """Draw one row for each program, with one mark for each data set."""
    plt = reporting.pyplot()
    labels = [row.label for row in ROWS]
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.24 * len(labels)), layout="constrained")
    for index, name in enumerate(names):
        found = [(results.get(label, {}).get(name), place) for place, label in enumerate(labels)]
        found = [(item["gap"], place) for item, place in found if item and item["gap"] is not None]
        axes.plot(
            [max(gap, 1e-9) for gap, _ in found],
            [place for _, place in found],
            "o",
            color=f"C{index}",
            label=name,
        )
    axes.set_xscale("log")
    axes.set_ylim(len(labels), -1)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_xlabel("objective above the proven lower bound, relative to it")
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(argv=None):
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="environments and results")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="rows to run (again): part of a name"
    )
    parser.add_argument("--figure", metavar="PNG")
    arguments = parser.parse_args(argv)
    folder, sets = arguments.folder.resolve(), data_sets()
    store = folder / "results.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    for row in ROWS:
        again = any(name in row.label for name in arguments.only)
        if not again and (arguments.only or row.label in results):
            continue
        found = {name: measured(row, folder, *sets[name], False) for name in row.data if name in sets}
        found["tight"] = measured(row, folder, *sets[row.check], True)
        results[row.label] = found
        store.write_text(json.dumps(results, indent=1))
        print(row.label, {name: cell(item) for name, item in found.items()}, flush=True)
    names = [name for name in SETS if name in sets]
    print(*tables(results, names), sep="\n\n")
    if arguments.figure:
        draw(results, names, arguments.figure)


if __name__ == "__main__":
    main()
