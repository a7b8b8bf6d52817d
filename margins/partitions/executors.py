"""Executors, which answer requests over chunks or over the parts of a dask collection.

Chunks are read in threads of this process. Dask's scheduler may use such threads or a cluster.

Both executors send requests as short as possible. If a partition lacks what a request refers to, they
send it again, complete and with the samples.
"""

from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial

import numpy as np

from margins.data.chunks import read_chunk
from margins.partitions.work import Answers, answer, forget, scan, total

# Answers are summed in a tree with FAN_IN parts per sum, so that the client of a cluster receives few.
FAN_IN = 8

# Vectors of more than this many bytes are sent to a cluster once, not with every task.
SCATTERED_BYTES = 1 << 16

# Requests are sent at most this often: again if the worker that held their copy is lost.
MAX_ATTEMPTS = 5


class Executor:
    """The part that both executors share; `indices`: the partitions that are not empty."""

    def __init__(self, n_partitions):
        self.n_partitions, self.indices = n_partitions, list(range(n_partitions))

    def scan(self, key, name, sizes):
        """Return a list of Counts, one for each partition that is not empty, in their order."""
        counts = self._scanned(key, name, sizes)
        self.indices = [index for index, count in zip(self.indices, counts, strict=True) if count]
        return [count for count in counts if count]

    def collect(self, setting, requests):
        """Return a tuple with one sum of the answers of all partitions for each request."""
        short_requests = tuple(request.sent for request in requests)
        answers = total(self._answers(setting, short_requests, self.indices))
        if not answers.missing:
            return answers.sums
        complete = self._answers(setting, requests, sorted(answers.missing), is_complete=True)
        return total([answers._replace(missing=()), *complete]).sums


class ChunkExecutor(Executor):
    """Executor that reads chunks in threads."""

    # Number of processes that keep partitions.
    n_processes = 1

    def __init__(self, chunks, n_threads):
        super().__init__(len(chunks))
        self._chunks, self._n_threads = chunks, n_threads

    def _scanned(self, key, name, sizes):
        def work(index):
            return self._of_samples(index, name, partial(scan, key, name, index, sizes))

        return list(self._results_of(work, self.indices))

    def _answers(self, setting, requests, indices, is_complete=False):
        """Return the Answers of some partitions, which need all samples if requests are complete."""
        reads = is_complete or any(request.reads for request in requests)

        def work(index):
            function = partial(answer, setting, index, requests)
            return self._of_samples(index, setting.name, function) if reads else function()

        return self._results_of(work, indices)

    def _of_samples(self, index, name, function):
        """Return a function's value for a partition's X, y and weight, which are in memory meanwhile."""
        X, y, weight = self.read(index, name)
        try:
            return function(X, y, weight)
        finally:
            del X, y, weight
            self._chunks.release(index)

    def read(self, index, name, rows_only=False):
        """Read a partition into the memory of this process: (X, y, weight or None)."""
        return read_chunk(self._chunks, index, name)

    def release(self, index):
        """Free the memory of a partition that has been read, if it is part of a memory map."""
        self._chunks.release(index)

    def _results_of(self, work, indices):
        """Yield the results of a function of each index, in order, computed by the threads."""
        if self._n_threads == 1:
            yield from map(work, indices)
            return
        with ThreadPoolExecutor(self._n_threads) as threads:
            futures = [threads.submit(work, index) for index in indices]
            try:
                for position, future in enumerate(futures):
                    yield future.result()
                    futures[position] = None
            finally:  # after Ctrl-C, read no further chunk
                threads.shutdown(wait=False, cancel_futures=True)

    def forget(self, key):
        """Forget what the partitions keep."""
        forget(key)


class DaskExecutor(Executor):
    """Executor of dask's scheduler; each part is (X, y, weight) as Delayed, weight may be None."""

    def __init__(self, parts):
        super().__init__(len(parts))
        self._parts, self._client, self._worker_of = parts, _active_client(), {}
        if self._client is not None:
            self._worker_of = self._first_workers()

    def _first_workers(self):
        """Return {partition: worker}: the worker that holders X, else equal numbers in a row."""
        workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        loaded = self._client.who_has()
        worker_of = {}
        for index, (X, *_) in enumerate(self._parts):
            holders = loaded.get(X.key) or loaded.get(str(X.key))
            next_worker = workers[index * len(workers) // len(self._parts)]
            worker_of[index] = holders[0] if holders else next_worker
        return worker_of

    @property
    def n_processes(self):
        return max(len(set(self._worker_of.values())), 1)

    def _scanned(self, key, name, sizes):
        tasks = [
            self._task(scan, index, key, name, index, sizes, *self._parts[index])
            for index in self.indices
        ]
        return self._compute(tasks)

    def collect(self, setting, requests):
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return super().collect(setting, requests)
            except CancelledError:
                continue
        return super().collect(setting, requests)

    def _answers(self, setting, requests, indices, is_complete=False):
        n_read = 3 if is_complete else int(any(request.reads for request in requests))
        message = setting, requests
        if self._client is not None and _nbytes(message) > SCATTERED_BYTES:
            message = scattered(message, self._client)
        tasks = [
            self._task(_answer, index, message, index, *self._parts[index][:n_read]) for index in indices
        ]
        answers = self._total(tasks)
        self._worker_of |= dict(answers.workers)
        return [answers]

    def read(self, index, name, rows_only=False):
        """See `ChunkExecutor.read`: dask computes the partition and sends it to this process."""
        parts = self._parts[index][:1] if rows_only else self._parts[index]
        return (*self._compute(list(parts)), None, None)[:3]

    def release(self, index):
        """Do nothing: only the caller refers to the partition."""

    def _task(self, function, index, *arguments):
        """Return a Delayed call, preferably on the worker that had the partition before."""
        import dask

        worker = self._worker_of.get(index)
        annotations = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        with dask.annotate(**annotations):
            return dask.delayed(function, pure=False, traverse=False)(*arguments)

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
        """Forget what the partitions keep, here and in the workers."""
        forget(key)
        if self._client is not None:
            self._client.run(forget, key, on_error="ignore")


def _answer(message, index, X=None, y=None, weight=None):
    setting, requests = message
    answers = answer(setting, index, requests, X, y, weight)
    return answers._replace(workers=_worker_of_task(index))


def _worker_of_task(index):
    """Return ((partition, worker of this task),), or () outside a cluster."""
    try:
        from distributed import get_worker

        return ((index, get_worker().address),)
    except (ImportError, ValueError):
        return ()


def _active_client():
    """Return the active client of dask.distributed, or None."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def scattered(value, client):
    """Send a value to a dask cluster, and return its Futures; CancelledError if a worker is lost."""
    workers = set(client.ncores())
    try:
        return client.scatter(value, hash=False)
    except Exception as error:
        lost = workers.difference(client.ncores())
        # The scheduler also looks up workers that joined and left after we counted.
        if workers and not (lost or isinstance(error, OSError | KeyError)):
            raise
        what = sorted(lost) or repr(error) if workers else "none"
        raise CancelledError(f"workers of dask: {what}") from error


def _nbytes(value):
    """Return the number of bytes of the arrays in nested tuples."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_nbytes, value)) if isinstance(value, tuple) else 0
