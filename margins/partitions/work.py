"""The functions that run where a partition is, and the store of what partitions keep between passes."""

import os
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from margins.data.validation import Labels, n_rows_of
from margins.linalg.threads import one_thread
from margins.partitions.partition import Missing, Partition
from margins.partitions.requests import added
from margins.partitions.samples import count, named

# A process keeps the states of at most MAX_FITS fits, in case it does not learn that a fit has ended.
MAX_FITS = 8
# It remembers this many ended fits, whose last tasks may still run in other threads.
MAX_ENDED = 64


@dataclass
class Kept:
    """The data that a partition keeps."""

    labels: Labels | None = None
    folds: np.ndarray | None = None  # int, shape (m,)
    # {(binary problem, version of its weight vector): PointState}
    states: dict = field(default_factory=dict)


class Store:
    """The partitions of a process."""

    def __init__(self):
        self.begin()

    def begin(self):
        """Forget everything."""
        self._lock, self._fits, self._ended = threading.Lock(), OrderedDict(), deque(maxlen=MAX_ENDED)

    def of(self, key, index):
        """Return the Kept of partition `index` of a fit."""
        with self._lock:
            if key in self._ended:
                return Kept()
            partitions = self._fits.setdefault(key, {})
            self._fits.move_to_end(key)
            while len(self._fits) > MAX_FITS:
                self._fits.popitem(last=False)
            return partitions.setdefault(index, Kept())

    def forget(self, key):
        """Forget the partitions of a fit that has ended."""
        with self._lock:
            self._fits.pop(key, None)
            if key not in self._ended:  # the workers of one process share the store
                self._ended.append(key)

    def __len__(self):
        return len(self._fits)


STORE = Store()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=STORE.begin)  # another thread may hold the lock


class Answers(NamedTuple):
    """The answers of one or more partitions."""

    sums: tuple | None  # one sum of the answers per request; None: all partitions are missing
    missing: tuple = ()  # tuple of int: partitions that lacked what a request refers to
    # tuple of (int, str): partitions, and the workers of a cluster that answered for them
    workers: tuple = ()


def scan(key, name, index, sizes, X, y, weight=None):
    """Read a new partition and keep its labels; return its Counts, or None if it is empty."""
    chunk = f"chunk {index} of {name}"
    with named(chunk):
        if n_rows_of(X) == 0:
            return None
        counts, labels = count(X, y, weight, chunk, index, sizes)
    STORE.of(key, index).labels = labels
    return counts


def answer(setting, index, requests, X=None, y=None, weight=None):
    """Answer requests from the samples of a partition or, without samples, from what it keeps."""
    partition = None
    try:
        partition = Partition(setting, index, STORE.of(setting.key, index), X, y, weight)
        with one_thread():
            return Answers(tuple(request.answer(partition) for request in requests))
    except Missing:
        return Answers(None, (index,))
    finally:
        if partition is not None:
            partition.release()


def total(parts):
    """Return the sum of Answers, in their order."""
    sums, missing, workers = None, (), ()
    for part in parts:
        missing, workers = missing + part.missing, workers + part.workers
        if part.sums is not None:
            sums = part.sums if sums is None else added(sums, part.sums)
    return Answers(sums, missing, workers)


def forget(key):
    """Forget what the partitions of a fit keep in this process."""
    STORE.forget(key)
