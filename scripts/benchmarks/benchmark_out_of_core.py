"""Fits of samples that are not in memory: passes, memory and time, against fits in memory.

    MARGINS_DATA=... python scripts/benchmarks/benchmark_out_of_core.py [--quick] [--tasks map ...]

All data are copies of Covertype, every feature divided by its largest value, rows in random order; with
`--quick`, a generated set of 20,000 rows. Copies do not change the problem except for C: m copies with
penalty C have the optimum of one with m C, so every fit is compared with one in memory, within their
proven gaps.

map         a memory map of `--copies` copies in a temporary folder, fitted by a separate process:
            passes, seconds, and the peak of its resident memory, pages of the map included
rules       the same of at most 4 copies, by algorithms of rules: also epochs, and accesses of a sample,
            most of them in active sets
threads     an array in memory by dask's threads, and directly: wall-clock and processor seconds
partitions  1 to 64 partitions: objectives and gaps
workers     4 copies on a cluster of one and of two processes: wall-clock seconds; processor seconds
            of the client and of the worker with the most; and megabytes that workers send
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import make_classification

import margins
from margins.data.chunks import Chunks

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import measuring
import real_data
import reporting

LOSSES = ("squared_hinge", "hinge")
# Name, loss, accuracy.
RULES = (
    ("auto", "squared_hinge", 0.05),
    ("auto", "hinge", 0.05),
    ("pdm", "squared_hinge", 0.05),
    ("mpu", "squared_hinge", 0.05),
    ("mpu", "hinge", 0.05),
    ("mpcs", "squared_hinge", 0.05),
    ("mpvs", "squared_hinge", 0.05),
)
EPS = 1e-3
ROWS = 1 << 16  # written at a time


def samples(quick):
    """Return X, dense, and labels."""
    if quick:
        X, y = make_classification(20_000, 12, flip_y=0.1, random_state=0)
        return X / np.abs(X).max(axis=0), y
    X, y = real_data.binary("covtype")[1:3]
    X, order = X.toarray(), np.random.default_rng(0).permutation(X.shape[0])
    return X[order] / np.maximum(np.abs(X).max(axis=0), 1e-300), np.asarray(y)[order]


def classifier_of(loss, C=1.0, **options):
    return margins.MarginClassifier(loss=loss, C=C, eps=EPS, random_state=0, **options)


def agree(one, other):
    """Return True if the intervals [dual, primal] of two certificates have a number in common."""
    return bool(one["dual"] <= other["primal"] and other["dual"] <= one["primal"])


def outcome(classifier):
    """Return the proof of a fit: dict."""
    certificate = classifier.certificates_[0]
    return {
        "primal": certificate.primal,
        "dual": certificate.dual,
        "gap": certificate.gap,
        "passes": classifier.n_iter_ + 1,
        "converged": bool(classifier.converged_),
    }


# --------------------------------------------------------------------------------------------- tasks


def fit_of_map(options):
    """Fit a memory map in a separate process, and return its outcome: dict."""
    command = [sys.executable, __file__, "--child", json.dumps(options)]
    return json.loads(subprocess.check_output(command, text=True).splitlines()[-1])


def of_map(X, y, arguments):
    """Yield the fits of a memory map."""
    with TemporaryDirectory(dir=arguments.folder) as folder:
        write(folder, X, y, arguments.copies)
        for loss in LOSSES:
            row = fit_of_map({"folder": folder, "loss": loss, "n_features": X.shape[1]})
            direct = outcome(classifier_of(loss, float(arguments.copies)).fit(X, y))
            row |= {"loss": loss, "rows": arguments.copies * len(y), "agrees": agree(row, direct)}
            row["direct primal"] = direct["primal"]
            yield row


def of_rules(X, y, arguments):
    """Yield the fits of a memory map by rule-based algorithms."""
    copies = min(arguments.copies, 4)
    with TemporaryDirectory(dir=arguments.folder) as folder:
        write(folder, X, y, copies)
        direct = {loss: outcome(classifier_of(loss, float(copies)).fit(X, y)) for loss in LOSSES}
        for name, loss, eps in RULES:
            options = {"name": name, "loss": loss, "eps": eps}
            row = fit_of_map({"folder": folder, "n_features": X.shape[1], **options})
            yield row | options | {"agrees": agree(row, direct[loss])}


class CountedChunks(Chunks):
    """Chunks that count how often a chunk is read."""

    n_read = 0

    def __getitem__(self, index):
        self.n_read += 1
        return super().__getitem__(index)


def write(folder, X, y, copies):
    """Write copies of the samples."""
    shape = copies * X.shape[0], X.shape[1]
    mapped = np.memmap(Path(folder) / "X", dtype=np.float64, mode="w+", shape=shape)
    for copy in range(copies):
        for begin in range(0, len(X), ROWS):
            rows = X[begin : begin + ROWS]
            mapped[copy * len(X) + begin : copy * len(X) + begin + len(rows)] = rows
    mapped.flush()
    np.save(Path(folder) / "y.npy", np.tile(y, copies))


def child(folder, loss, n_features, name="auto", eps=EPS):
    """Fit a memory map in a separate process, and print the outcome."""
    y = np.load(Path(folder) / "y.npy")
    X = np.memmap(Path(folder) / "X", dtype=np.float64, mode="r", shape=(len(y), n_features))
    before, chunks = measuring.resident_bytes("VmHWM"), CountedChunks(Chunks.of_rows(X, y).parts)
    params = {"C": 1.0, "eps": eps, "random_state": 0} | ({"loss": loss} if loss == "hinge" else {})
    clock, processor, classifier = measuring.seconds_of(lambda: margins.get(name)(**params).fit(chunks))
    row = outcome(classifier) | {"seconds": clock, "processor seconds": processor}
    row |= {"epochs": classifier.n_iter_, "accesses": classifier.n_accesses_ / len(y)}
    row["passes"] = chunks.n_read / len(chunks)
    row |= {"megabytes": X.nbytes / 1e6, "read megabytes": row["passes"] * X.nbytes / 1e6}
    row |= {"resident megabytes": measuring.resident_bytes("VmHWM") / 1e6, "before": before / 1e6}
    print(json.dumps(row))


def by_threads(X, y, arguments):
    """Yield fits with dask's threads and in memory, in turn."""
    import dask.array as da

    rows = -(-len(y) // arguments.partitions)
    lazy_X, lazy_y = da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)
    for loss in LOSSES:
        fits = {
            "direct": lambda: classifier_of(loss).fit(X, y),  # noqa: B023
            "dask": lambda: classifier_of(loss).fit(lazy_X, lazy_y),  # noqa: B023
        }
        times, classifiers = {name: [] for name in fits}, {}
        for _ in range(arguments.repeats + 1):  # the first turn does not count
            for name, fit in fits.items():
                *seconds, classifiers[name] = measuring.seconds_of(fit)
                times[name].append(seconds)
        one, other = outcome(classifiers["direct"]), outcome(classifiers["dask"])
        best = {name: np.min(turns[1:], axis=0).tolist() for name, turns in times.items()}
        row = {"loss": loss, "seconds": best, "passes": other["passes"], "agrees": agree(one, other)}
        row["ratio"] = [a / b for a, b in zip(best["dask"], best["direct"], strict=True)]
        yield row


def by_partitions(X, y, arguments):
    """Yield fits of 1 to 64 partitions."""
    for loss in LOSSES:
        chunks = [Chunks.of_rows(X, y, n_rows=-(-len(y) // n)) for n in (1, 4, 16, 64)]
        outcomes = [outcome(classifier_of(loss).fit(parts)) for parts in chunks]
        primal = [fit["primal"] for fit in outcomes]
        gaps = [fit["primal"] - fit["dual"] for fit in outcomes]
        yield {
            "loss": loss,
            "passes": [fit["passes"] for fit in outcomes],
            "difference": (max(primal) - min(primal)) / min(primal),
            "gap": max(fit["gap"] for fit in outcomes),
            "agrees": max(primal) - min(primal) <= max(gaps),
        }


def by_workers(X, y, arguments):
    """Yield fits on clusters of one and of two processes."""
    from distributed import Client, LocalCluster

    kinds = ("seconds", "processor seconds", "sent megabytes")
    rows = {loss: {"loss": loss, **{kind: {} for kind in kinds}} for loss in LOSSES}
    with TemporaryDirectory(dir=arguments.folder) as folder:
        write(folder, X, y, 4)
        for n in (1, 2):
            options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
            with LocalCluster(n_workers=n, **options) as cluster, Client(cluster) as client:
                lazy_X, lazy_y = persisted(folder, 4 * len(y), X.shape[1], arguments.partitions)
                for loss in LOSSES:
                    times = []
                    for _ in range(arguments.repeats):
                        before, sent = client.run(time.process_time), client.run(bytes_sent)
                        fit = measuring.seconds_of(lambda: classifier_of(loss).fit(lazy_X, lazy_y))  # noqa: B023
                        after, sent_then = client.run(time.process_time), client.run(bytes_sent)
                        of_workers = [after[worker] - before[worker] for worker in before]
                        times.append((fit[0], fit[1] + max(of_workers), fit[1]))
                    row = rows[loss]
                    row["seconds"][n], row["processor seconds"][n], row["client seconds"] = np.min(
                        times, axis=0
                    ).tolist()
                    row["sent megabytes"][n] = (sum(sent_then.values()) - sum(sent.values())) / 1e6
                    row |= outcome(fit[2])
    for row in rows.values():
        for kind in ("seconds", "processor seconds"):
            row[f"speed-up in {kind}"] = row[kind][1] / row[kind][2]
        yield row


def persisted(folder, m, d, n_partitions):
    """Load the samples of a file with the workers of the current client: arrays of dask."""
    import dask
    import dask.array as da
    from distributed import wait

    size = -(-m // n_partitions)
    bounds = [(begin, min(begin + size, m)) for begin in range(0, m, size)]
    read_X, read_y = dask.delayed(rows_of_file), dask.delayed(labels_of_file)
    X = [da.from_delayed(read_X(folder, m, d, *ends), (ends[1] - ends[0], d), float) for ends in bounds]
    y = [da.from_delayed(read_y(folder, *ends), (ends[1] - ends[0],), float) for ends in bounds]
    lazy = da.concatenate(X).persist(), da.concatenate(y).persist()
    wait(lazy)
    return lazy


def rows_of_file(folder, m, d, begin, end):
    mapped = np.memmap(Path(folder) / "X", dtype=np.float64, mode="r", shape=(m, d))
    return np.array(mapped[begin:end])


def labels_of_file(folder, begin, end):
    return np.load(Path(folder) / "y.npy")[begin:end].astype(float)


def bytes_sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


TASKS = {
    "map": of_map,
    "rules": of_rules,
    "threads": by_threads,
    "partitions": by_partitions,
    "workers": by_workers,
}


def main(argv=None):
    """Print a line for every fit: dict of lists of dict."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    option("--copies", type=int, default=16, metavar="N")
    option("--partitions", type=int, default=12, metavar="N")
    option("--repeats", type=int, default=3, metavar="N")
    option("--folder", help="folder of temporary files")
    option("--quick", action="store_true", help="a generated set of 20,000 rows")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    option("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        return child(**json.loads(arguments.child))
    if arguments.quick:
        arguments.copies, arguments.repeats = min(arguments.copies, 3), 1
    X, y = samples(arguments.quick)
    results = {task: [] for task in arguments.tasks}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # dask warns about ports and sizes of graphs
        for task, rows in results.items():
            for row in TASKS[task](X, y, arguments):
                rows.append(row)
                print(task, json.dumps(row), flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


if __name__ == "__main__":
    reporting.in_both_environments(main)
