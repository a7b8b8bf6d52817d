"""Threads within one linear problem: wall-clock seconds with one thread, and with several.

Generated samples with noisy labels, dense, or CSR with a fixed number of elements per row. Fits
alternate; each row has the medians of five turns: the product of X and a vector by NumPy or SciPy, a
fit by one thread, a fit by `--threads`, and their ratio. The first row shows the limit of the machine's
memory: that product alone, by one thread and by several. Both fits must agree bit for bit.

With `--folder FOLDER`, two columns have the multi-core version of LIBLINEAR that where_solvers_stop.toml
pins, in an environment in FOLDER, with one thread and with several. Its tolerance is the largest of
`TOLS` whose model `margins.certify` proves to be within the gap of our `eps`; "-": it takes more than
`LIMIT` seconds. Its seconds leave out its copy of X.
"""

import json
import subprocess
import sys
import time
import timeit
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

if sys.argv[1:2] != ["--liblinear"]:  # the environment of LIBLINEAR has none of these
    import measuring
    import reporting

    import margins
    from margins.data.binary_data import rows_of
    from margins.linalg.threads import share_rows, team_of

# samples, features, elements in a row of CSR; 0: dense
SHAPES = (
    *((2_000_000, 50, 0), (400_000, 50, 0), (1_000_000, 20, 0), (100_000, 300, 0), (40_000, 1000, 0)),
    *((1_000_000, 500, 30), (400_000, 20_000, 60)),
)
# Of LIBLINEAR: -s, -e, and the most wall-clock seconds of all fits with one tolerance.
SOLVERS, TOLS, LIMIT = {"squared_hinge": 2, "hinge": 3}, (1e-1, 1e-2, 1e-3, 1e-4), 60
TITLES = (
    *("samples", "features", "storage", "loss", "solver", "product", "one", "several", "ratio", "gap"),
)


def samples_of(m, d, n_stored, seed=0):
    """Return X and y with a noisy linear rule."""
    rng = np.random.default_rng(seed)
    if n_stored == 0:
        X = rng.normal(size=(m, d))
    else:
        columns = np.sort(rng.integers(0, d, (m, n_stored), dtype=np.int32), axis=1).ravel()
        starts = np.arange(m + 1, dtype=np.int32) * n_stored
        X = sparse.csr_array((rng.normal(size=m * n_stored), columns, starts), (m, d))
        X.sum_duplicates()
    scores = X @ rng.normal(size=d)
    return X, scores + 0.5 * scores.std() * rng.normal(size=m) > 0


def seconds_of(call, turns):
    """Return the median time of a call, after a call that does not count."""
    return median(timeit.repeat(call, number=1, repeat=turns + 1)[1:])


def fit_liblinear(source, target, options, turns):
    """Fit LIBLINEAR in this process, and write its model and the median of its seconds."""
    from liblinear.liblinearutil import parameter, problem, train

    with np.load(source) as file:
        parts = [file[name] for name in file.files if name != "y"]
        X, y = parts[0] if len(parts) == 1 else sparse.csr_matrix(tuple(parts)), file["y"]
    given, seconds = problem(y, X), []
    for _ in range(turns):
        begin = time.perf_counter()
        model = train(given, parameter(options))
        seconds.append(time.perf_counter() - begin)
    coef, intercept = model.get_decfun()
    sign = model.get_labels()[0]  # scores are positive for the label of the first row
    np.savez(target, coef=sign * np.array(coef), intercept=sign * intercept, seconds=median(seconds))


def seconds_of_liblinear(X, y, loss, n_threads, arguments):
    """Return the seconds of the largest tolerance that proves the gap of our eps, as str, or "-"."""
    from where_solvers_stop import python_of

    source, target = arguments.folder / "samples.npz", arguments.folder / "model.npz"
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    np.savez(source, *parts, y=np.where(y, 1.0, -1.0))
    gap = 2 * arguments.eps if loss == "squared_hinge" else arguments.eps
    for tol in TOLS:
        options = f"-s {SOLVERS[loss]} -B 1 -q -m {n_threads} -e {tol}"
        given = json.dumps([str(source), str(target), options, arguments.turns])
        python = python_of(arguments.folder, "liblinear-multicore")
        try:
            subprocess.run([python, __file__, "--liblinear", given], check=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            break  # a smaller tolerance takes longer
        with np.load(target) as found:
            model, seconds = (found["coef"][None], found["intercept"][None]), float(found["seconds"])
        (proof,) = margins.certify(
            model, X, y, C=1.0, loss=loss, penalize_intercept=True, accuracy=0.1 * gap
        ).certificates
        if proof.gap <= gap:
            return f"{seconds:.3f}"
    return "-"


def fits_row(X, y, loss, arguments):
    """Time the fits of one set and one loss, for a row of the table: list of str."""

    def make(n_jobs):
        return margins.MarginClassifier(loss=loss, eps=arguments.eps, random_state=0, n_jobs=n_jobs)

    vector = np.ones(X.shape[1])
    product = seconds_of(lambda: X @ vector, arguments.turns)
    makes = {"one": lambda: make(1), "several": lambda: make(arguments.threads)}
    sides = measuring.in_alternation(makes, X, y, arguments.turns)
    ours, others = sides["one"].classifier, sides["several"].classifier
    if not np.array_equal(ours.coef_, others.coef_) or ours.certificates_ != others.certificates_:
        raise AssertionError(f"The fit of {X.shape} depends on the number of threads.")
    storage = "CSR" if sparse.issparse(X) else "dense"
    one, several = sides["one"].seconds, sides["several"].seconds
    numbers = [f"{value:.3f}" for value in (product, one, several)]
    gap = f"{ours.certificates_[0].gap:.1e}"
    row = [*map(str, X.shape), storage, loss, ours.solver_, *numbers, f"{one / several:.2f}", gap]
    if arguments.folder is not None:
        for n_threads in (1, arguments.threads):
            row.append(seconds_of_liblinear(X, y, loss, n_threads, arguments))
    return row


def memory_row(X, arguments):
    """Time the product of X and a vector in blocks of samples, for a row of the table: list of str."""
    rows, vector = rows_of(X), np.ones(X.shape[1])
    products = np.empty(len(X))

    def fill(begin, end):
        np.matmul(X[begin:end], vector, out=products[begin:end])

    def seconds_by(n_threads):
        with team_of(n_threads):
            return seconds_of(lambda: share_rows(rows, fill, 0, len(X)), arguments.turns)

    one, several = seconds_by(1), seconds_by(arguments.threads)
    numbers = ["", f"{one:.3f}", f"{several:.3f}"]
    return [*map(str, X.shape), "dense", "", "product alone", *numbers, f"{one / several:.2f}", ""]


def main(argv=None):
    """Measure, and print a table."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--threads", type=int, default=2, metavar="N")
    option("--turns", type=int, default=5, metavar="N")
    option("--eps", type=float, default=1e-3)
    option("--scale", type=float, default=1.0, metavar="SHARE", help="share of the samples")
    option("--folder", type=Path, help="compare with LIBLINEAR, in an environment in this folder")
    arguments, rows, titles = parser.parse_args(argv), [], TITLES
    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        titles = (*TITLES, "LIBLINEAR, one", "several")
    for m, d, n_stored in SHAPES:
        X, y = samples_of(max(int(arguments.scale * m), 2), d, n_stored)
        if not rows:
            rows.append(memory_row(X, arguments) + [""] * (len(titles) - len(TITLES)))
        rows += [fits_row(X, y, loss, arguments) for loss in ("squared_hinge", "hinge")]
    print(reporting.table(titles, rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--liblinear"]:
        fit_liblinear(*json.loads(sys.argv[2]))
        sys.exit()
    reporting.in_both_environments(main)
