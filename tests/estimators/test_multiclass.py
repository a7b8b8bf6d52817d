"""One-vs-rest in threads: the distribution of problems, errors, and Ctrl-C."""

import os
import signal
import threading
import time

import joblib
import pytest

from margins.linalg.threads import run_tasks

PATIENCE = 30  # seconds, for what should take none


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7, 20, -1, None])
def test_every_problem_is_trained_once_with_its_own_seed(n_jobs):
    calls = []

    def train(index, seed):
        calls.append(index)
        return index, seed

    assert run_tasks(train, [5, 3, 8, 1, 1, 0, 9], n_jobs) == list(enumerate([5, 3, 8, 1, 1, 0, 9]))
    assert sorted(calls) == list(range(7))


def threads_of(n_jobs, n_problems=4):
    """How many threads train."""
    seen = set()

    def train(index, seed):
        seen.add(threading.get_ident())
        time.sleep(0.03)

    run_tasks(train, [0] * n_problems, n_jobs)
    return len(seen)


def test_as_many_threads_train_as_joblib_counts():
    assert threads_of(None) == threads_of(1) == 1
    assert threads_of(3) == 3
    assert threads_of(9) == 4  # problems there are
    assert threads_of(-1) == min(joblib.cpu_count(), 4)
    assert threads_of(3, n_problems=1) == 1
    # A number of processes says nothing of threads.
    for backend, n_threads in (("threading", 2), ("loky", 1)):
        with joblib.parallel_config(backend, n_jobs=2):
            assert threads_of(None) == n_threads
            assert threads_of(3) == 3
            assert threads_of(1) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_problems_error_is_raised_and_no_further_problem_begun(n_jobs):
    begun, both = [], threading.Barrier(n_jobs)

    def train(index, seed):
        begun.append(index)
        both.wait(PATIENCE)
        raise ValueError(f"of problem {index}")

    with pytest.raises(ValueError, match="of problem 0"):
        run_tasks(train, [0] * 5, n_jobs)
    assert sorted(begun) == list(range(n_jobs))


@pytest.mark.no_cover  # an interrupt may come while coverage holds a lock
def test_ctrl_c_waits_for_no_problem():
    begun, end = [], threading.Event()

    def train(index, seed):
        begun.append(index)
        if len(begun) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        assert end.wait(PATIENCE)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_tasks(train, [0] * 5, n_jobs=2)
    assert time.monotonic() - start < PATIENCE / 2
    before = threading.active_count()
    end.set()
    while threading.active_count() > before - 1 and time.monotonic() - start < PATIENCE:
        time.sleep(0.01)
    assert sorted(begun) == [0, 1]
