"""Execution of tasks: joblib runs one flat list, and each result is written to disk at once."""

import itertools
import sys
import traceback
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError
from importlib.util import find_spec

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from margins.model_selection.tasks import Failure, FitFailed, Outcome, run
from margins.optional import require
from margins.partitions.executors import scattered

# Arrays from this size on reach other processes through a memory map, not as a copy with each task.
MAPPED = "10K"
# Maximum number of losses of workers in a row, without any task finished in between.
MAX_LOSSES = 3
# Seconds after which tasks fail on a dask cluster without workers.
WITHOUT_WORKERS = 10


def run_all(tasks, shared, *, cache, keys, n_jobs, bar, name_of):
    """Return the Outcome of each task; raise FitFailed if one fails or workers are lost repeatedly."""
    study = _Run(tasks, shared, n_jobs, bar, cache, keys)
    study.enter_known()
    n_losses = 0  # in a row
    while waiting := study.waiting():
        loss = study.attempt(waiting)
        if study.failed:
            number, failure = min(study.failed)
            raise _error(failure, name_of(tasks[number]))
        n_losses = n_losses + 1 if len(study.waiting()) == len(waiting) else 0
        if n_losses == MAX_LOSSES:
            task = tasks[waiting[0]]
            raise FitFailed(
                f"{name_of(task)} with {task.settings[0]!r}, or a task that ran at the same time, "
                f"failed: workers were lost {n_losses} times in a row before any task was finished"
            ) from loss
    return study.outcomes


class _Run:
    """The tasks of one call of `run_all`, and their outcomes, None of those that are not finished."""

    def __init__(self, tasks, shared, n_jobs, bar, cache, keys):
        self._tasks, self._shared, self._n_jobs, self._bar = tasks, shared, n_jobs, bar
        self._cache, self._keys = cache, keys
        self.outcomes = [None] * len(tasks)
        self.failed = []

    def waiting(self):
        """Return the numbers of the tasks that are not finished: list of int."""
        return [number for number, outcome in enumerate(self.outcomes) if outcome is None]

    def enter_known(self):
        """Enter the outcomes that are in the cache."""
        for number in self.waiting():
            outcome = self._known(number)
            if outcome is not None:
                self._enter(number, outcome)

    def attempt(self, waiting):
        """Run tasks until one fails or workers are lost; return the error of a loss, or None."""
        if self._cache:  # so that two processes that share a study seldom run the same task
            np.random.default_rng().shuffle(waiting)
        done_by_others = deque()
        loss = None
        try:
            jobs = self._jobs(waiting, done_by_others)
            for number, outcome in _results(self._shared, jobs, self._n_jobs):
                if isinstance(outcome, Failure):
                    self.failed.append((number, outcome))  # running tasks are still finished and kept
                    continue
                if self._cache:
                    self._cache.put(self._keys[number], outcome)
                self._enter(number, outcome)
        except (BrokenExecutor, CancelledError) as error:  # by which joblib and dask report lost workers
            loss = error
        for number, outcome in done_by_others:
            self._enter(number, outcome)
        return loss

    def _jobs(self, waiting, done_by_others):
        for number in waiting:
            if self.failed:
                return
            outcome = self._known(number)  # another process may have finished it
            if outcome is None:
                yield number, self._tasks[number]
            else:
                done_by_others.append((number, outcome))

    def _known(self, number):
        fields = self._cache.get(self._keys[number]) if self._cache else None
        return None if fields is None else Outcome(*fields)

    def _enter(self, number, outcome):
        self.outcomes[number] = outcome
        self._bar.update(len(self._tasks[number].settings))


def _results(shared, jobs, n_jobs):
    """Run jobs, pairs (number, Task), and yield (number, Outcome or Failure) as they are finished."""
    backend, _ = get_active_backend()
    if hasattr(backend, "client"):
        with backend.retrieval_context():
            yield from _results_of_dask(shared, jobs, backend.client, backend.submit_kwargs)
        return
    # Tasks take long enough to be dispatched one by one.
    parallel = Parallel(
        n_jobs, prefer="threads", return_as="generator_unordered", batch_size=1, max_nbytes=MAPPED
    )
    yield from parallel(delayed(run)(shared, *job) for job in jobs)


def _results_of_dask(shared, jobs, client, options):
    """Do the same as `_results` with a dask client; joblib's loop would hang if all workers are lost."""
    from distributed import KilledWorker, wait

    jobs = iter(jobs)
    numbers = {}

    def submitted(n_tasks):
        for number, task in itertools.islice(jobs, n_tasks):
            future = client.submit(run, data, number, task, pure=False, **options)
            numbers[future.key] = number
            yield future

    try:
        data = scattered(shared, client)
        pending = set(submitted(2 * sum(client.ncores().values()) or 2))
        while pending:
            try:
                done, pending = wait(pending, timeout=WITHOUT_WORKERS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                if client.ncores():
                    continue
                raise
            n_done = len(done)
            while done:
                future = done.pop()
                number = numbers.pop(future.key)
                try:
                    result = future.result()
                except KilledWorker as error:  # workers were lost several times during this task
                    result = number, Failure(None, repr(error), traceback.format_exc())
                del future  # dask would run it again if its worker is lost later
                yield result
            pending |= set(submitted(n_done))
    except OSError as error:  # dask raises it for lost connections and missing workers
        raise CancelledError(f"workers of dask: {error!r}") from error


def _error(failure, name):
    setting_suffix = "" if failure.setting is None else f" with {failure.setting!r}"
    error = FitFailed(f"{name}{setting_suffix} failed: {failure.error}")
    error.add_note(failure.trace)
    return error


class Bar:
    """A progress bar over all fits; None: show it if there is a terminal and tqdm is installed."""

    def __init__(self, total, is_shown):
        self._bar = None
        if is_shown is None:
            is_shown = sys.stderr is not None and sys.stderr.isatty()
            is_shown = is_shown and find_spec("tqdm") is not None
        if is_shown:
            self._bar = require("progress=True", "tqdm").tqdm(total=total, unit="fit", smoothing=0)

    def update(self, n_fits):
        if self._bar is not None:
            self._bar.update(n_fits)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._bar is not None:
            self._bar.close()
