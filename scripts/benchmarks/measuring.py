"""Measurements: seconds of alternating fits, the cost of an access, and the memory of a fit.

    python scripts/benchmarks/measuring.py FOLDER '{"solver": "auto", ...}'

is run by `peak_memory` in a separate process, and is not for other uses.
"""

import gc
import json
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, rows_of
from margins.rules import Additive, Mistake, NoShrink, Rules

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import peers

TURN = 0.01  # seconds


class TooSlow(Exception):
    """A fit exceeded its time limit."""


@contextmanager
def deadline(seconds):
    """Raise TooSlow after a number of seconds: at once in our fits, in others' when they return.

    None: never. Systems without an alarm signal (Windows) have no time limit.
    """
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_):
        raise TooSlow(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------------------------------------- seconds


@dataclass
class Timed:
    """The fits of one side: its last classifier, and the seconds of a fit in each turn but the first."""

    classifier: object = None
    wall: list = field(default_factory=list)
    cpu: list = field(default_factory=list)
    message: str | None = None

    @property
    def seconds(self):
        return median(self.wall) if self.wall else None

    @property
    def cpu_seconds(self):
        return median(self.cpu) if self.cpu else None


def timed(make, X, y):
    """A turn of fits: (classifier, wall and CPU seconds of one, its ConvergenceWarning's words or None).

    One fit or, if fits are short, as many in a row as last `TURN` together, and their mean:
    a single one of half a millisecond mostly measures what the other side has left in the cache.
    """
    n_fits, wall, cpu, message = 0, 0.0, 0.0, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while n_fits == 0 or wall < TURN:
            classifier = make()
            begin, begin_cpu = time.perf_counter(), time.process_time()
            classifier.fit(X, y)
            wall += time.perf_counter() - begin
            cpu += time.process_time() - begin_cpu
            n_fits += 1
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            message = str(warning.message)
    return classifier, wall / n_fits, cpu / n_fits, message


def in_alternation(makes, X, y, repeats, limit=None):
    """Time all sides once to warm up, then `repeats` times in turn, each round begun by another side.

    Parameters
    ----------
    makes : dict
        {name: callable that returns an unfitted classifier}.
    X, y
        The same objects for all.
    repeats : int
    limit : float, optional
        Seconds after which a fit is interrupted, and its side omitted from then on.

    Returns
    -------
    dict of Timed
    """
    gc.collect()
    gc.freeze()  # collections before every fit would walk over all objects and empty the caches
    try:
        return _in_turns(makes, X, y, repeats, limit)
    finally:
        gc.unfreeze()


def _in_turns(makes, X, y, repeats, limit):
    sides, given_up = {name: Timed() for name in makes}, set()
    for turn in range(-1, repeats):
        names = list(makes)
        first = max(turn, 0) % len(names)
        for name in names[first:] + names[:first]:
            side = sides[name]
            if name in given_up:
                continue
            gc.collect()
            try:
                with deadline(limit):
                    side.classifier, wall, cpu, message = timed(makes[name], X, y)
            except TooSlow as error:
                side.message = str(error)
                given_up.add(name)
                continue
            side.message = message
            if turn >= 0:
                side.wall.append(wall)
                side.cpu.append(cpu)
    return sides


# ------------------------------------------------------------------------------------------- accesses


def access_costs(X, y, repeats):
    """Measure nanoseconds per row: dict.

    matvec: of scipy's ``X @ w``. ordered, permuted: of our pass over all samples when none is
    misclassified, in the order of the file and in a random one.
    """
    m, d = X.shape
    w = np.random.default_rng(0).normal(size=d)
    rows = rows_of(X)
    sqnorms = rows.sqnorms()
    # All of one class and a large bias: after a few updates nothing is left to be learned.
    sq_intercept_scaling = float(sqnorms.max())
    data = make_binary_data(
        rows, sqnorms + sq_intercept_scaling, np.ones(m, dtype=bool), sq_intercept_scaling, 0.0, np.inf
    )
    weights, sets = WeightVector(d, 0), ActiveSets((), m)
    rules = Rules(Mistake(), Additive(), NoShrink())
    ordered = np.arange(m, dtype=np.int32)
    permuted = np.random.default_rng(0).permutation(ordered)
    while sets.full_epoch(data, weights, rules, permuted):
        pass
    jobs = {
        "matvec": lambda: X @ w,
        "ordered": lambda: sets.full_epoch(data, weights, rules, ordered),
        "permuted": lambda: sets.full_epoch(data, weights, rules, permuted),
    }
    # Repeat for some milliseconds, because the clock is coarse.
    often = max(1, 2**18 // m)
    nanoseconds = {name: [] for name in jobs}
    for turn in range(-1, repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            for _ in range(often):
                job()
            if turn >= 0:
                nanoseconds[name].append(1e9 * (time.perf_counter() - start) / often / m)
    return {name: median(values) for name, values in nanoseconds.items()}


# ------------------------------------------------------------------------------------------- memory

# A small process starts the process that is measured, because a process inherits the peak memory of the
# process that starts it.
LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes per unit of ru_maxrss
ARRAYS = ("data", "indices", "indptr")


def size_of(X):
    """Return the bytes of the three arrays of a CSR matrix."""
    return sum(getattr(X, name).nbytes for name in ARRAYS)


def peak_memory(X, y, requests):
    """Return the peak memory of a fit in addition to X and y, measured from outside its process.

    Parameters
    ----------
    X : CSR matrix
    y : ndarray
    requests : dict
        {name: dict for `make_requested`}.

    Returns
    -------
    dict of int, or None if the system does not provide it (Windows)
    """
    if sys.platform == "win32":
        return None
    with TemporaryDirectory() as folder:
        for name in ARRAYS:
            np.save(Path(folder, f"{name}.npy"), getattr(X, name))
        np.save(Path(folder, "y.npy"), y)
        shape = {"n_features": X.shape[1]}
        idle = _peak_of(folder, shape)
        return {name: _peak_of(folder, shape | request) - idle for name, request in requests.items()}


def _peak_of(folder, request):
    command = [sys.executable, "-c", LAUNCHER, sys.executable, __file__, folder, json.dumps(request)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return UNIT * int(done.stdout.split()[-1])


def make_requested(request, X, y):
    """Return the classifier that a request describes, one of ours or of peers."""
    problem = peers.Problem(X, y, **request["problem"])
    for solver in peers.LINEAR_SVC:
        if solver.name == request["solver"]:
            return solver.make(problem, request["tol"], request["seed"], request["max_iter"])
    return peers.ours(request["solver"], problem, request["eps"], request["seed"], request["max_iter"])


def _warm_up():
    """Load everything that a first fit loads regardless of the data."""
    X, y = sparse.csr_matrix([[1.0], [-1.0]]), np.array([1, -1])
    problem = peers.Problem(X, y, "squared_hinge", 1.0)
    for classifier in (peers.ours("auto", problem, 0.1, 0, 10), LinearSVC()):
        classifier.fit(X, y)


def main(folder, request):
    """Load X and y, and fit if the request names a solver."""
    request = json.loads(request)
    warnings.simplefilter("ignore", ConvergenceWarning)
    _warm_up()
    data, indices, indptr, y = (np.load(Path(folder, f"{name}.npy")) for name in (*ARRAYS, "y"))
    X = sparse.csr_matrix((data, indices, indptr), shape=(len(y), request["n_features"]))
    if "solver" in request:
        make_requested(request, X, y).fit(X, y)


if __name__ == "__main__":
    main(*sys.argv[1:])
