"""Running tasks: one flat list through joblib, each finished one on disk at once."""

import sys
from collections import deque

import numpy as np
from joblib import Parallel, delayed

from margins.model_selection.tasks import Failure, FitFailed, Outcome, run

# Arrays from this size on reach other processes by a memory map, not by a copy with each task.
MAPPED = "10K"


def run_all(tasks, shared, *, n_jobs, bar, cache=None, keys=None, name_of):
    """Run all tasks that are not in the cache: list of Outcome, in the order of the tasks.

    Parameters
    ----------
    tasks : list of Task
    shared : Shared
    n_jobs : int or None
        As joblib counts.
    bar : Bar
        Updated after each finished task.
    cache : Cache or None
    keys : list of str
        Of the tasks in the cache.
    name_of : callable
        ``name_of(task)``, for messages.

    Raises
    ------
    FitFailed
        If a task fails. No further one is started; those that run are finished and cached.
    """
    outcomes = [None] * len(tasks)

    def enter(number, outcome):
        outcomes[number] = outcome
        bar.update(len(tasks[number].settings))

    def known(number):
        found = cache.get(keys[number]) if cache else None
        return None if found is None else Outcome(*found)

    todo = []
    for number in range(len(tasks)):
        outcome = known(number)
        if outcome is None:
            todo.append(number)
        else:
            enter(number, outcome)
    if cache:  # two processes that share a study then seldom run the same task
        np.random.default_rng().shuffle(todo)
    done_by_others = deque()

    failed = []

    def jobs():
        for number in todo:
            if failed:
                return
            outcome = known(number)  # meanwhile, by another process
            if outcome is None:
                yield delayed(run)(shared, number, tasks[number])
            else:
                done_by_others.append((number, outcome))

    # Tasks take long enough to be dispatched one by one.
    parallel = Parallel(
        n_jobs, prefer="threads", return_as="generator_unordered", batch_size=1, max_nbytes=MAPPED
    )
    for number, outcome in parallel(jobs()):
        if isinstance(outcome, Failure):
            failed.append((number, outcome))  # those that run are finished and kept
            continue
        if cache:
            cache.put(keys[number], outcome)
        enter(number, outcome)
    if failed:
        number, failure = min(failed)
        raise _error(failure, name_of(tasks[number]))
    for number, outcome in done_by_others:
        enter(number, outcome)
    return outcomes


def _error(failure, name):
    which = "" if failure.setting is None else f" with {failure.setting!r}"
    error = FitFailed(f"{name}{which} failed: {failure.error}")
    error.add_note(failure.trace)
    return error


class Bar:
    """A progress bar over all fits of a study.

    Parameters
    ----------
    total : int
    shown : bool or None
        None: if there is a terminal and tqdm is installed.
    """

    def __init__(self, total, shown):
        self._bar = None
        if shown is None:
            shown = sys.stderr is not None and sys.stderr.isatty()
            try:
                import tqdm
            except ImportError:
                shown = False
        if shown:
            import tqdm

            self._bar = tqdm.tqdm(total=total, unit="fit", smoothing=0)

    def update(self, n_fits):
        if self._bar is not None:
            self._bar.update(n_fits)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._bar is not None:
            self._bar.close()
