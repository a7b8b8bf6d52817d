"""Studies that are killed at random moments, in processes of their own; `test_kills` runs them.

    python killed_study.py KIND FOLDER N_KILLS LONGEST

KIND is what is killed: "parent", "parent of workers", "worker", "dask worker", "all dask workers" at
once, or "one of two studies" on one folder; "every worker" or "every dask worker" by one of the tasks.
LONGEST is the longest time in seconds before a kill. The last line that is printed is JSON.
"""

import contextlib
import functools
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import joblib
from cached_study import X, study_of, y
from sklearn.linear_model import RidgeClassifier

from margins.model_selection import FitFailed, cache, engine, parameter_search, running

SECONDS = 0.03  # that each task takes at least


class Log:
    """A file to which processes append what they do with which task."""

    def __init__(self, folder):
        self.path = str(folder) + ".log"
        self._n_repeated = 0
        Path(self.path).touch()

    def write(self, what, name):
        with open(self.path, "a") as file:
            file.write(f"{what} {name}\n")

    def n_repeated(self):
        """Tasks that were begun after they had been stored, of all studies."""
        stored = set()
        for line in Path(self.path).read_text().splitlines():
            what, _, name = line.partition(" ")
            if what == "stored":
                stored.add(name)
            self._n_repeated += what == "begun" and name in stored
        Path(self.path).write_text("")
        return self._n_repeated


class Recorded:
    """`running.run`, recorded; it reaches other processes by its name."""

    def __init__(self, log):
        self.log = log

    def __call__(self, shared, number, task):
        self.log.write("begun", json.dumps([task.split, task.settings]))
        time.sleep(SECONDS)
        return RUN(shared, number, task)


RUN, RUN_ALL, PUT = running.run, engine.run_all, cache.Cache.put


def record(log):
    """Record begun and stored tasks from now on."""
    names = {}

    def run_all(tasks, *args, keys=None, **options):
        for task, key in zip(tasks, keys or (), strict=False):
            names[key] = json.dumps([task.split, task.settings])
        return RUN_ALL(tasks, *args, keys=keys, **options)

    def put(self, key, content):
        PUT(self, key, content)
        log.write("stored", names[key])

    running.run, engine.run_all, cache.Cache.put = Recorded(log), run_all, put


def begun(folder, backend="threading"):
    """Begin a study in a process of its own: (process, end of a pipe that its text comes from)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(read)
        random.seed()
        with joblib.parallel_config(backend, n_jobs=1 if backend == "threading" else 2):
            text = study_of(cache=folder).to_json()
        with os.fdopen(write, "w") as file:
            file.write(text)
        os._exit(0)
    os.close(write)
    return child, os.fdopen(read)


def killed_parents(folder, n_kills, longest, backend):
    """Kill the process of a study, and begin it again: the texts, the number of kills, no errors."""
    n_killed, texts = 0, []
    while n_killed < n_kills:
        child, file = begun(folder, backend)
        found = []
        with file:
            reader = threading.Thread(target=lambda file=file, found=found: found.append(file.read()))
            reader.start()
            reader.join(random.uniform(0, longest))
            if reader.is_alive():
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            end_workers(child)  # they hold the pipe
            reader.join()
        if os.WIFSIGNALED(status):
            n_killed += 1
        elif status == 0 and found[0]:
            texts.append(found[0])
            clear(folder)
        else:
            raise SystemExit(f"a study ended with status {status}")
    texts.append(study_of(cache=folder).to_json())
    return texts, n_killed, []


def end_workers(group):
    """End the workers that a killed process has left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def clear(folder):
    for path in Path(folder).glob("??/*.json"):
        path.unlink()
    LOG.n_repeated()  # counts, and begins a new log


def one_of_two_killed(folder, n_kills, longest):
    """Kill one of two studies on one folder: the texts of the others, the number of kills, no errors."""
    texts = []
    for _ in range(n_kills):
        (killed, unread), (other, text) = begun(folder), begun(folder)
        time.sleep(random.uniform(0, longest))
        os.kill(killed, signal.SIGKILL)
        with unread, text:
            texts.append(text.read())
        for child in (killed, other):
            os.waitpid(child, 0)
        clear(folder)
    return texts, n_kills, []


class Deadly(RidgeClassifier):
    """Kills the process of one of its fits."""

    def fit(self, X, y):
        if self.alpha == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


def deadly_study(folder, n_kills, longest, workers):
    """The error of a study one of whose tasks kills every worker; all others are finished then."""
    options = {"cv": 3, "random_state": 0, "cache": folder, "progress": False}
    try:
        with workers():
            parameter_search(Deadly(), {"alpha": [1, 2, 3, 4, 5]}, X, y, **options)
    except FitFailed as error:
        return [], 0, [str(error)]
    return [], 0, []


@contextlib.contextmanager
def loky():
    """Two workers of loky; yields a function that returns their process numbers."""
    from joblib.externals.loky import reusable_executor

    def pids():
        executor = reusable_executor._executor
        return list(executor._processes or ()) if executor is not None else []

    with joblib.parallel_config("loky", n_jobs=2):
        yield pids


@contextlib.contextmanager
def dask():
    """A cluster of two workers; yields a function that returns their process numbers."""
    import distributed

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=2, silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):

        def pids():
            processes = [worker.process for worker in list(cluster.workers.values())]
            running = [each for each in processes if each is not None and each.status.name == "running"]
            return [each.pid for each in running if each.pid]

        yield pids


def killed_workers(folder, n_kills, pids, longest, how_many, are_replaced):
    """Kill workers of running studies: the texts of all studies, kills, and errors.

    If the next study does not begin workers of its own (`are_replaced`), it ends once there are none.
    """
    killed, over = [], threading.Event()

    def kill():
        while len(killed) < n_kills and not over.wait(random.uniform(0.1, longest)):
            found = pids()
            for pid in random.sample(found, min(how_many, len(found))):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    texts, errors = [], []
    try:
        while len(killed) < n_kills or not texts:
            try:
                texts.append(study_of(cache=folder).to_json())
                clear(folder)
            except FitFailed as error:  # one clear error; the next call resumes
                errors.append(str(error))
                if not (are_replaced or pids()):
                    break
    finally:
        over.set()
        killer.join()
    return texts, len(killed), errors


def killed_workers_of_loky(folder, n_kills, longest):
    with loky() as pids:
        return killed_workers(folder, n_kills, pids, longest, how_many=1, are_replaced=True)


def killed_workers_of_dask(folder, n_kills, longest, how_many):
    """Kill workers of clusters: another cluster if all its workers are gone for good."""
    texts, n_killed, errors = [], 0, []
    while n_killed < n_kills:
        with dask() as pids:
            found = killed_workers(
                folder, n_kills - n_killed, pids, longest, how_many, are_replaced=False
            )
        texts, n_killed, errors = texts + found[0], n_killed + found[1], errors + found[2]
    texts.append(study_of(cache=folder).to_json())
    return texts, n_killed, errors


KINDS = {
    "parent": functools.partial(killed_parents, backend="threading"),
    "parent of workers": functools.partial(killed_parents, backend="loky"),
    "one of two studies": one_of_two_killed,
    "worker": killed_workers_of_loky,
    "dask worker": functools.partial(killed_workers_of_dask, how_many=1),
    "all dask workers": functools.partial(killed_workers_of_dask, how_many=2),
    "every worker": functools.partial(deadly_study, workers=loky),
    "every dask worker": functools.partial(deadly_study, workers=dask),
}


def main(kind, folder, n_kills, longest):
    global LOG
    LOG = Log(folder)
    undisturbed = study_of()
    if not kind.startswith("every"):
        record(LOG)
    texts, n_killed, errors = KINDS[kind](folder, n_kills, longest)
    found = {
        "same": [type(undisturbed).from_json(text) == undisturbed for text in texts],
        "n_killed": n_killed,
        "n_repeated": LOG.n_repeated(),
        "n_stored": len(list(Path(folder).glob("??/*.json"))),
        "errors": errors,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    import killed_study  # by its name, which workers find

    killed_study.main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
