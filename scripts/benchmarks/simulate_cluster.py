"""Time of a pass with up to 1,000 partitions: a simulation from the measured costs of one partition.

    python scripts/benchmarks/simulate_cluster.py [--quick] [--rows 100000] [--workers 100]

Measured here, in processor seconds: a partition's part of the longest pass, in which all its
samples enter the Hessian; the bytes of its answer, and what it takes to read and add one; and what
scheduler, client and worker of dask.distributed, in one process, spend on a task that does nothing.
Simulated: the scheduler sends problems in turn; each worker runs its partitions; answers are
added in a tree whose sums have eight parts, over a network of `--gigabits`; the client adds the last
ones and solves for the step. Printed, for each number of partitions: the seconds of a pass, the share of
it in which workers compute, and what bounds it.
"""

import heapq
import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from margins.partitions.executors import FAN_IN
from margins.partitions.partition import PartitionedProblem, Point, Setting
from margins.partitions.requests import Evaluate
from margins.partitions.store import STORE
from margins.partitions.work import answer, total

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting


class Costs(NamedTuple):
    """Measured costs, in seconds, and the bytes of an answer."""

    partition: float  # a partition's part of a pass
    addition: float  # adding an answer that has come by the network
    task: float  # sending a task and receiving its end
    solution: float  # the step of the client
    nbytes: int
    bandwidth: float  # bytes per second of the network of each process


class Pass(NamedTuple):
    """A simulated pass."""

    seconds: float
    busy: float  # the share of that time in which a worker computes, the mean over workers
    bound: str  # "workers" or "client": what would take longest alone


def measured(n_rows, n_features, n_tasks, gigabits, repeats=3):
    """Measure the Costs on this machine."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)) / np.sqrt(n_features)
    y = np.where(X @ rng.normal(size=n_features) + 0.5 * rng.normal(size=n_rows) > 0, 1, 0)
    setting = Setting(
        key="simulation",
        name="simulation",
        n_features=n_features,
        classes=np.array([0, 1]),
        problems=(PartitionedProblem(1, 1.0),),
        folds=None,
        class_weights=None,
        loss="hinge",
        has_free_intercept=False,
        sq_intercept_scaling=1.0,
        median=None,
        is_stored=True,
        in_blocks=n_features > 16,
        kept_bytes=0,
    )
    request = Evaluate(0, Point(1, 0.25, np.zeros(n_features + 1), ()), None)
    try:
        answers, partition = reporting.least_time(lambda: answer(setting, 0, (request,), X, y), repeats)
    finally:
        STORE.forget(setting.key)
    sent = pickle.dumps(answers, protocol=5)
    _, addition = reporting.least_time(lambda: total([answers, pickle.loads(sent)]), 20)
    matrix = np.eye(n_features + 1) + answers.sums[0].sums[0].hessian
    right = np.ones(n_features + 1)
    _, solution = reporting.timed(lambda: cho_solve(cho_factor(matrix, lower=True), right))
    return Costs(partition, addition, seconds_of_task(n_tasks), solution, len(sent), gigabits * 1e9 / 8)


def nothing(number):
    """Return the result of a task that does nothing."""
    return number


def seconds_of_task(n_tasks):
    """Return the seconds that scheduler, client and worker spend on a task."""
    import dask
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "inproc"}
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster,
            Client(cluster) as client,
        ):
            problems = [dask.delayed(nothing, pure=False)(number) for number in range(n_tasks)]
            client.gather(client.compute(problems[: n_tasks // 10]))
            _, seconds = reporting.timed(lambda: client.gather(client.compute(problems)))
            return seconds / n_tasks


def simulate(costs, n_partitions, n_workers):
    """Simulate a Pass."""
    transfer = costs.nbytes / costs.bandwidth
    scheduler = busy = 0.0
    free = [0.0] * n_workers  # when each worker ends what it has

    def run(ready, work):
        """Schedule a task on the first free worker, and return its end."""
        nonlocal scheduler, busy
        scheduler = max(scheduler, ready) + costs.task
        end = max(heapq.heappop(free), scheduler) + work
        heapq.heappush(free, end)
        busy += work
        return end

    ends = [run(0.0, costs.partition) for _ in range(n_partitions)]
    while len(ends) > 1:
        groups = [ends[begin : begin + FAN_IN] for begin in range(0, len(ends), FAN_IN)]
        work = costs.addition + transfer
        ends = [run(max(group), len(group) * work) for group in sorted(groups, key=max)]
    seconds = max(ends[0], scheduler) + transfer + costs.addition + costs.solution
    n_tasks = n_partitions + n_partitions / (FAN_IN - 1)
    client = n_tasks * costs.task + costs.addition + costs.solution
    of_workers = -(-n_partitions // n_workers) * costs.partition
    bound = "client" if client > of_workers else "workers"
    return Pass(seconds, busy / (n_workers * seconds), bound)


def workers_at_balance(costs):
    """Return the number of workers for which client and scheduler take as long as the workers."""
    return costs.partition / (costs.task * (1 + 1 / (FAN_IN - 1)))


def main(argv=None):
    """Print a line for every number of partitions: list of dict."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--rows", type=int, default=100_000, metavar="N", help="rows of a partition")
    option("--features", type=int, nargs="+", default=[54, 500], metavar="N")
    option("--workers", type=int, nargs="+", default=[2, 10, 100], metavar="N")
    option("--gigabits", type=float, default=10.0, metavar="N")
    option("--quick", action="store_true", help="2,000 rows of 10 features, 100 problems")
    option("--json", type=Path, metavar="FILE", help="write the results to FILE")
    arguments = parser.parse_args(argv)
    n_tasks = 1000
    if arguments.quick:
        arguments.rows, arguments.features, n_tasks = 2000, [10], 100
    rows = []
    for n_features in arguments.features:
        costs = measured(arguments.rows, n_features, n_tasks, arguments.gigabits)
        print(
            f"{arguments.rows} rows of {n_features} features: {costs.partition:.3g} s a partition, "
            f"{costs.nbytes / 1e3:.0f} kB an answer, {1e3 * costs.addition:.2g} ms to add it, "
            f"{1e3 * costs.task:.2g} ms a task. The client bounds a pass from "
            f"{workers_at_balance(costs):.0f} workers on."
        )
        for n_workers in arguments.workers:
            for n_partitions in (10, 30, 100, 300, 1000):
                simulated = simulate(costs, n_partitions, n_workers)
                row = {"features": n_features, "workers": n_workers, "partitions": n_partitions}
                rows.append(row | simulated._asdict() | {"balance": workers_at_balance(costs)})
                print(
                    f"{n_partitions} partitions, {n_workers} workers: {simulated.seconds:.2f} s, "
                    f"workers busy {simulated.busy:.0%}, bound by {simulated.bound}"
                )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows


if __name__ == "__main__":
    main()
