"""Measurements: seconds of alternating fits, limits of time, and the memory of a process."""

import gc
import signal
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from sklearn.exceptions import ConvergenceWarning

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


def seconds_of(call):
    """Return the wall-clock and the processor seconds of a call, and its result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - wall, time.process_time() - processor, result


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
    """Time a turn of fits: (classifier, wall and CPU seconds of one, its ConvergenceWarning or None).

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

    `makes` maps the name of a side to a function that returns an unfitted classifier, and the result
    has a Timed for each. After a fit of more than `limit` seconds, its side is omitted.
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


def resident_bytes(name):
    """Return VmRSS, the memory of this process, or VmHWM, its peak; nan if the system does not tell."""
    path = Path("/proc/self/status")
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    sizes = [1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")]
    return sizes[0] if sizes else float("nan")
