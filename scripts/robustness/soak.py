"""Long runs of one process: does memory stay flat over many fits, interrupted fits and broken plug-ins?

Each kind of work is repeated, in rounds; after a warm-up of a fifth of the rounds the memory of the
process must not grow by more than 1 MiB. What is measured is the memory in use, of the C library and of
Python, where the former is known (mallinfo2 of glibc), and else the resident set.

    python scripts/robustness/soak.py --fits 5000 --interrupts 200 --plugins 50
    python scripts/robustness/soak.py --fits 500 --only mpu pdm
"""

import ctypes
import gc
import importlib
import itertools
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import margins
from margins import registry

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

LIMIT = 1 << 20  # bytes
ROUNDS = 20
KERNELS = {"alma": ("linear",), "second-order-perceptron": ("linear",), "pfm": ("linear",)}


# The contents of a broken plug-in's module.
BROKEN = (
    "raise RuntimeError('broken')",
    "import a_module_that_does_not_exist",
    "class Algorithm(:",
    "other = 1",
    "from margins.rules import NoSuchRule",
)


class _Heap(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _heap_reader():
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    function.restype = _Heap
    return function


_READ_HEAP = _heap_reader()


def memory():
    """Return the bytes in use by this process."""
    gc.collect()
    if _READ_HEAP is not None:
        heap = _READ_HEAP()
        # Python's own allocator counts blocks, of 64 bytes on average.
        return heap.uordblks + heap.hblkhd + 64 * sys.getallocatedblocks()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def data():
    """Return samples of two overlapping classes: X, y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)
    return X, y


def growth(work, n):
    """Return the growth of memory in bytes over n calls of `work`, after a fifth of them."""
    per_round = max(n // ROUNDS, 1)
    rounds = max(n // per_round, 2)
    start = None
    for done in range(rounds):
        for _ in range(per_round):
            work()
        if done == rounds // 5:
            start = memory()
    return memory() - start


def fit_and_predict(name, kernel):
    """Return a function that fits an algorithm, predicts and, if it can, learns a chunk."""
    X, y = data()
    params = {"random_state": 0, "max_iter": 5}
    if name == "pfm":
        params["gamma"] = 0.01
    if kernel != "linear":
        params["kernel"] = kernel

    def work():
        classifier = margins.get(name)(**params).fit(X, y)
        classifier.predict(X)
        if kernel == "linear" and hasattr(classifier, "partial_fit"):
            margins.get(name)(**params).partial_fit(X, y, classes=[-1, 1]).predict(X)

    return work


def interrupted_fit(names):
    """Return a function that interrupts a long fit of each algorithm in turn."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 50)), np.where(rng.random(2000) < 0.5, 1, -1)
    turn = iter(names * 10**6)

    def work():
        name = next(turn)
        params = {"random_state": 0, "max_iter": 10**7}
        params |= {"gamma": 0.001} if name == "pfm" else {}
        classifier = margins.get(name)(**params)
        ended = threading.Event()

        def interrupt():
            if not ended.wait(0.01):
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        try:
            thread.start()
            classifier.fit(X, y)
            ended.set()
            thread.join()
            time.sleep(0.001)
        except KeyboardInterrupt:
            ended.set()
            thread.join()

    return work


def broken_plug_in(folder):
    """Return a function that installs a broken plug-in on the path, requests it and removes it."""
    bodies = itertools.cycle(BROKEN)
    numbers = itertools.count()

    def work():
        number, body = next(numbers), next(bodies)
        module, name = f"broken_{number}", f"broken-{number}"
        metadata = folder / f"margins_{module}-0.1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: margins-{name}\nVersion: 0.1\n"
        )
        (metadata / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = {module}:Algorithm\n")
        (folder / f"{module}.py").write_text(body)
        importlib.invalidate_caches()
        try:
            if name not in margins.available():
                raise AssertionError(f"{name} is not listed")
            margins.get(name)
        except Exception as error:
            if name not in str(error):
                raise
        else:
            raise AssertionError(f"{name} was imported")
        finally:
            shutil.rmtree(metadata)
            (folder / f"{module}.py").unlink()
            sys.modules.pop(module, None)

    return work


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = reporting.parser_of(__doc__)
    option = parser.add_argument
    option("--fits", type=int, default=5000, help="fits and predictions of every algorithm")
    option("--interrupts", type=int, default=200)
    option("--plugins", type=int, default=50)
    option("--only", nargs="+", metavar="NAME", help="algorithms, else all")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore", ConvergenceWarning)
    names = options.only or margins.available()
    works = [
        (f"{name}, {kernel}", fit_and_predict(name, kernel), options.fits)
        for name in names
        for kernel in KERNELS.get(name, ("linear", "rbf"))
    ]
    works.append(("interrupted fits", interrupted_fit(names), options.interrupts))
    grown = []
    with tempfile.TemporaryDirectory() as folder:
        sys.path.append(folder)
        works.append(("broken plug-ins", broken_plug_in(Path(folder)), options.plugins))
        for label, work, n in works:
            if n == 0:
                continue
            begin = time.perf_counter()
            n_bytes = growth(work, n)
            grown += [label] if n_bytes > LIMIT else []
            seconds = time.perf_counter() - begin
            print(f"{label}: {n} times, {n_bytes / 1024:.0f} KiB, {seconds:.1f} s", flush=True)
        sys.path.remove(folder)
    print(f"grown by more than {LIMIT >> 20} MiB: {', '.join(grown) or 'none'}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
