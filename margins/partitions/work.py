"""The functions that run where a partition is."""

from typing import NamedTuple

from margins.data.validation import n_rows_of
from margins.linalg.threads import one_thread
from margins.partitions.partition import Missing, Partition
from margins.partitions.requests import added
from margins.partitions.samples import count, named
from margins.partitions.store import STORE


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
