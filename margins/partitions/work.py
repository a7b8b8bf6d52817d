"""The functions that run where a partition is."""

from typing import NamedTuple

from margins.linalg.threads import one_thread
from margins.partitions.partition import Missing, Partition
from margins.partitions.requests import added
from margins.partitions.samples import count, n_rows_of, named
from margins.partitions.store import STORE


class Answers(NamedTuple):
    """What some partitions have answered."""

    sums: tuple | None  # for each request the sum of their answers; None: all partitions are missing
    missing: tuple = ()  # tuple of int: the partitions that lacked what a request refers to
    # tuple of (int, str): Of each partition, the worker of a cluster that has answered
    places: tuple = ()


def scan(key, name, index, sizes, X, y, weight=None):
    """Read a partition for the first time, and keep its labels: Counts; None if it is empty."""
    chunk = f"chunk {index} of {name}"
    with named(chunk):
        if n_rows_of(X) == 0:
            return None
        counts, labels = count(X, y, weight, chunk, index, sizes)
    STORE.of(key, index).labels = labels
    return counts


def answer(setting, index, requests, X=None, y=None, weight=None):
    """Answer requests by the samples of a partition, or, without them, by what it keeps: Answers."""
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
    """The sum of Answers, in their order."""
    sums, missing, places = None, (), ()
    for part in parts:
        missing, places = missing + part.missing, places + part.places
        if part.sums is not None:
            sums = part.sums if sums is None else added(sums, part.sums)
    return Answers(sums, missing, places)


def forget(key):
    """Forget what the partitions of a fit keep in this process."""
    STORE.forget(key)
