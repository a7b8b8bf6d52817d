"""Where requests are answered: over chunks in threads of this process, or over the parts of a collection
by dask, whose scheduler may be this process's threads or a cluster.

Both executors have the same two methods, `scan` and `collect`; both send requests as short as possible,
and again, complete and with the samples, to partitions that lack what a request refers to.
"""

from concurrent.futures import CancelledError, ThreadPoolExecutor

import numpy as np

from margins.data.chunks import read_chunk
from margins.partitions.cluster import scattered
from margins.partitions.work import Answers, answer, forget, scan, total

# Answers are summed in a tree in which each sum has so many parts, so that the client of a cluster
# receives few of them.
FAN_IN = 8

# Vectors of more bytes are sent to a cluster once, and not with every task.
SCATTERED_BYTES = 1 << 16

# Times that requests are sent: again if the worker that held their copy is lost.
MAX_ATTEMPTS = 5


class ChunkExecutor:
    """Reads chunks in threads of this process.

    Parameters
    ----------
    chunks : margins.data.chunks.Chunks
    n_threads : int

    Attributes
    ----------
    n_partitions : int
    indices : list of int
        The partitions that are not empty.
    """

    # The number of processes that keep partitions.
    n_processes = 1

    def __init__(self, chunks, n_threads):
        self._chunks, self._n_threads = chunks, n_threads
        self.n_partitions, self.indices = len(chunks), list(range(len(chunks)))

    def scan(self, key, name, sizes):
        """The counts of all partitions: list of Counts, in their order."""

        def work(index):
            X, y, weight = self.read(index, name)
            try:
                return scan(key, name, index, sizes, X, y, weight)
            finally:
                del X, y, weight
                self._chunks.release(index)

        counts = list(self._each(work, self.indices))
        self.indices = [index for index, count in zip(self.indices, counts, strict=True) if count]
        return [count for count in counts if count]

    def collect(self, setting, requests):
        """The sums of the answers of all partitions: tuple, one for each request."""
        reads = any(request.reads for request in requests)
        sent = tuple(request.sent for request in requests)
        answers = total(
            self._each(lambda index: self._answer(setting, index, sent, reads), self.indices)
        )
        if not answers.missing:
            return answers.sums
        again = self._each(
            lambda index: self._answer(setting, index, requests, True), sorted(answers.missing)
        )
        return total([answers._replace(missing=()), *again]).sums

    def _answer(self, setting, index, requests, reads):
        if not reads:
            return answer(setting, index, requests)
        X, y, weight = self.read(index, setting.name)
        try:
            return answer(setting, index, requests, X, y, weight)
        finally:
            del X, y, weight
            self._chunks.release(index)

    def read(self, index, name, rows_only=False):
        """A partition in the memory of this process, until its `release`: (X, y, weight or None).

        Parameters
        ----------
        index : int
        name : str
            The method's, for errors.
        rows_only : bool
            True: only X is needed.
        """
        return read_chunk(self._chunks, index, name)

    def release(self, index):
        """Free the memory of a partition that has been read, if it is part of a memory map."""
        self._chunks.release(index)

    def _each(self, work, indices):
        """The results of a function of each index, in their order, computed by the threads."""
        if self._n_threads == 1:
            yield from map(work, indices)
            return
        with ThreadPoolExecutor(self._n_threads) as threads:
            futures = [threads.submit(work, index) for index in indices]
            try:
                for place, future in enumerate(futures):
                    yield future.result()
                    futures[place] = None
            finally:  # Ctrl-C: no further chunk is read
                threads.shutdown(wait=False, cancel_futures=True)

    def forget(self, key):
        """Forget what partitions keep."""
        forget(key)


class DaskExecutor:
    """Answers by the parts of a dask collection, by dask's current scheduler.

    Parameters
    ----------
    parts : list of tuples
        (X, y, weight) of each partition: Delayed of dask; the last may be None.

    Attributes
    ----------
    n_partitions, indices, n_processes
        As those of `ChunkExecutor`.
    """

    def __init__(self, parts):
        self._parts, self._client, self._places = parts, _active_client(), {}
        self.n_partitions, self.indices = len(parts), list(range(len(parts)))
        if self._client is not None:
            self._places = self._first_places()

    def _first_places(self):
        """The worker of each partition: where X is in memory, else as many for each in a row: dict."""
        workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        loaded = self._client.who_has()
        places = {}
        for index, (X, *_) in enumerate(self._parts):
            has = loaded.get(X.key) or loaded.get(str(X.key))
            places[index] = has[0] if has else workers[index * len(workers) // len(self._parts)]
        return places

    @property
    def n_processes(self):
        return max(len(set(self._places.values())), 1)

    def scan(self, key, name, sizes):
        """See `ChunkExecutor.scan`."""
        tasks = [
            self._task(scan, index, key, name, index, sizes, *self._parts[index])
            for index in self.indices
        ]
        counts = self._compute(tasks)
        self.indices = [index for index, count in zip(self.indices, counts, strict=True) if count]
        return [count for count in counts if count]

    def collect(self, setting, requests):
        """See `ChunkExecutor.collect`."""
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return self._collected(setting, requests)
            except CancelledError:
                continue
        return self._collected(setting, requests)

    def _collected(self, setting, requests):
        reads = any(request.reads for request in requests)
        sent = self._sent((setting, tuple(request.sent for request in requests)))
        tasks = [
            self._task(_answer, index, sent, index, self._parts[index][0] if reads else None)
            for index in self.indices
        ]
        answers = self._total(tasks)
        self._places |= dict(answers.places)
        if not answers.missing:
            return answers.sums
        sent = self._sent((setting, requests))
        again = [
            self._task(_answer, index, sent, index, *self._parts[index])
            for index in sorted(answers.missing)
        ]
        complete = self._total(again)
        self._places |= dict(complete.places)
        return total([answers._replace(missing=()), complete]).sums

    def read(self, index, name, rows_only=False):
        """See `ChunkExecutor.read`: the partition is computed, and sent to this process."""
        import dask

        parts = self._parts[index][:1] if rows_only else self._parts[index]
        if self._client is None:
            found = dask.compute(*parts)
        else:
            found = self._client.gather(self._client.compute(list(parts)))
        return (*found, None, None)[:3]

    def release(self, index):
        """See `ChunkExecutor.release`: nothing else refers to it."""

    def _task(self, function, index, *arguments):
        """The call of a function, preferably where the partition has been before: Delayed."""
        import dask

        place = self._places.get(index)
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        with dask.annotate(**where):
            return dask.delayed(function, pure=False, traverse=False)(*arguments)

    def _sent(self, value):
        """A value, or, if it is large, its copy on the cluster, sent once."""
        if self._client is None or _nbytes(value) <= SCATTERED_BYTES:
            return value
        return scattered(value, self._client)

    def _total(self, tasks):
        import dask

        while len(tasks) > 1:
            groups = [tasks[begin : begin + FAN_IN] for begin in range(0, len(tasks), FAN_IN)]
            tasks = [dask.delayed(total, pure=False)(group) for group in groups]
        return self._compute(tasks)[0] if tasks else Answers(None)

    def _compute(self, tasks):
        import dask

        if self._client is None:
            return dask.compute(*tasks)
        return self._client.gather(self._client.compute(tasks))

    def forget(self, key):
        """Forget what partitions keep, here and in the workers."""
        forget(key)
        if self._client is not None:
            self._client.run(forget, key, on_error="ignore")


def _answer(sent, index, X=None, y=None, weight=None):
    setting, requests = sent
    answers = answer(setting, index, requests, X, y, weight)
    return answers._replace(places=_place(index))


def _place(index):
    """A partition and the worker that runs this task; empty outside a cluster."""
    try:
        from distributed import get_worker

        return ((index, get_worker().address),)
    except (ImportError, ValueError):
        return ()


def _active_client():
    """The client of dask.distributed that is active, if there is one."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def _nbytes(value):
    """Bytes of the arrays in nested tuples."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_nbytes, value)) if isinstance(value, tuple) else 0
