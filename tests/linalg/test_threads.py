"""Threads that share the items of one call, and threads of linear algebra."""

import gc
import os
import signal
import threading
import time

import joblib
import pytest
from problems import clouds
from threadpoolctl import ThreadpoolController

import margins
from margins.linalg.threads import Team, one_thread, run_tasks, set_n_threads


@pytest.mark.parametrize(("n_threads", "n"), [(1, 3), (2, 0), (2, 1), (2, 50), (4, 3)])
def test_results_are_in_the_order_of_the_items(n_threads, n):
    team = Team(n_threads)
    assert team.map(lambda i: i * i, range(n)) == [i * i for i in range(n)]
    assert team.map(str, range(n)) == [str(i) for i in range(n)]


def test_threads_work_at_the_same_time():
    barrier = threading.Barrier(2, timeout=10)
    assert len(set(Team(2).map(lambda _: (barrier.wait(), threading.get_ident())[1], range(2)))) == 2


@pytest.mark.parametrize("bad", [0, 1, 5])
def test_an_error_is_raised_and_the_team_works_on(bad):
    team = Team(2)
    with pytest.raises(ZeroDivisionError):
        team.map(lambda i: 1 // (i - bad), range(6))
    assert team.map(abs, [-1, 2]) == [1, 2]


@pytest.mark.parametrize("n, multiple", [(0, 4), (1, 4), (7, 4), (8, 4), (100, 4), (5, 1)])
def test_parts_cover_all_once_and_begin_at_multiples(n, multiple):
    parts = Team(3).parts(n, multiple)
    assert [i for part in parts for i in range(n)[part]] == list(range(n))
    assert len(parts) <= 3 and all(part.start % multiple == 0 for part in parts)


def test_threads_end_with_the_team():
    before = set(threading.enumerate())
    team = Team(2)
    team.map(abs, range(4))
    others = set(threading.enumerate()) - before
    del team
    gc.collect()
    for other in others:
        other.join(10)
    assert len(others) == 1 and not any(other.is_alive() for other in others)


def test_threads_of_linear_algebra_are_restored_after_classes_in_threads():
    libraries = ThreadpoolController().select(user_api="blas")
    X, y = clouds(m=600, d=15, n_classes=6)
    with libraries.limit(limits=2):
        before = [library["num_threads"] for library in libraries.info()]
        for seed in range(5):
            margins.MarginClassifier(loss="hinge", eps=1e-3, n_jobs=3, random_state=seed).fit(X, y)
            assert [library["num_threads"] for library in libraries.info()] == before


def test_overlapping_contexts_limit_linear_algebra_to_one_thread():
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    within = []

    def come():
        with one_thread():
            within.extend(library.get_num_threads() for library in libraries)

    try:
        for n_threads in (2, 3):
            for library in libraries:
                set_n_threads(library, n_threads)
            come()  # a thread that lives on, and one after the other beside it
            for _ in range(2):
                other = threading.Thread(target=come)
                other.start()
                other.join()
            assert [library.get_num_threads() for library in libraries] == [n_threads] * len(libraries)
    finally:
        for library, n_threads in zip(libraries, before, strict=True):
            set_n_threads(library, n_threads)
    assert within == [1] * 6 * len(libraries)


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
