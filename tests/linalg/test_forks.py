"""Children forked while other threads fit: locks are free, and BLAS has as many threads as before."""

import os
import pkgutil
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import margins
from margins.linalg.threads import one_thread, set_n_threads
from margins.partitions.work import STORE


def is_measured():
    """True if coverage of this process is measured."""
    coverage = sys.modules.get("coverage")
    return coverage is not None and coverage.Coverage.current() is not None


pytestmark = [
    # A thread may hold coverage's own lock when another forks; the child would wait for it.
    pytest.mark.skipif(is_measured(), reason="coverage is measured"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    # From Python 3.12 on: of a process with threads.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N_THREADS = 2
SECONDS = 60.0  # a child takes milliseconds, unless it waits forever

CORRECT, WRONG_OUTSIDE, WRONG_INSIDE, FAILED, HANGS = range(5)


@pytest.fixture
def libraries():
    """The BLAS libraries, set to two threads."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.get_num_threads() for library in found]
    for library in found:
        set_n_threads(library, N_THREADS)
    yield found
    for library, n_threads in zip(found, before, strict=True):
        set_n_threads(library, n_threads)


def samples(m):
    rng = np.random.default_rng(0)
    return rng.normal(size=(m, 12)), rng.integers(2, size=m)


def estimator(kernel="linear"):
    return margins.MarginClassifier(loss="hinge", eps=1e-3, max_iter=20, kernel=kernel)


def fit(m=60, kernel="linear", **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(kernel).set_params(**params).fit(*samples(m))


def leave_one_out():
    return margins.leave_one_out(estimator(), *samples(20), exact=True)


def keep_and_forget():
    STORE.of("a fit", 0)
    STORE.forget("a fit")
    return True


def numbers(libraries):
    return {library.get_num_threads() for library in libraries}


def outcome_of_child(action):
    """What ``action()`` returns in a forked child, an exit status; HANGS if it does not end."""
    child = os.fork()
    if child == 0:
        status = FAILED
        try:
            status = action()
        finally:
            os._exit(status)
    for _ in range(int(SECONDS / 0.002)):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HANGS


def outcomes_while_others_fit(libraries, n_forks, kernel):
    """The outcomes of children that fit, forked while two threads fit: set of int."""

    def in_child():
        if numbers(libraries) - {N_THREADS}:
            return WRONG_OUTSIDE
        fit(kernel=kernel)
        with one_thread():
            if numbers(libraries) - {1}:
                return WRONG_INSIDE
        return WRONG_OUTSIDE if numbers(libraries) - {N_THREADS} else CORRECT

    fit(kernel=kernel)  # a child would inherit the locks of imports
    ended = threading.Event()

    def work():
        while not ended.is_set():
            fit(300, kernel)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        found = set()
        for _ in range(n_forks):
            found.add(outcome_of_child(in_child))
            if found != {CORRECT}:
                break
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert numbers(libraries) <= {N_THREADS}
    return found


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_children_forked_while_others_fit_neither_hang_nor_lose_threads(libraries, kernel):
    assert outcomes_while_others_fit(libraries, 4, kernel) == {CORRECT}


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "n_forks"), [("linear", 300), ("rbf", 1000)])
def test_hundreds_of_children_neither_hang_nor_lose_threads(libraries, kernel, n_forks):
    assert outcomes_while_others_fit(libraries, n_forks, kernel) == {CORRECT}


@pytest.mark.parametrize(
    ("step", "hold"),
    [
        ("margins.kernels.shared_blocks.matrix_of", lambda: fit(kernel="rbf", solver="decomposition")),
        ("margins.decremental.solution.response_of", leave_one_out),
        ("margins.data.permutations.generator_of", fit),
        ("margins.partitions.work.Kept", keep_and_forget),
    ],
)
def test_a_child_forked_while_a_thread_is_in_a_step_does_the_step_itself(monkeypatch, step, hold):
    """No object that a step makes on demand is made under a lock that children inherit."""
    monkeypatch.setattr("margins.linalg.threads.MAX_WAIT", 0.05)
    function, main = pkgutil.resolve_name(step), threading.get_ident()
    inside, may_leave = threading.Event(), threading.Event()

    def slow(*args, **kwargs):
        if threading.get_ident() != main:
            inside.set()
            may_leave.wait(60)
        return function(*args, **kwargs)

    monkeypatch.setattr(step, slow)
    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)
    outcome = outcome_of_child(lambda: CORRECT if hold() else FAILED)
    may_leave.set()
    thread.join()
    assert outcome == CORRECT


def test_a_child_forked_within_the_limit_leaves_it_as_its_parent_does(libraries):
    def in_child():
        if numbers(libraries) - {1}:
            return WRONG_INSIDE
        context.__exit__(None, None, None)
        return WRONG_OUTSIDE if numbers(libraries) - {N_THREADS} else CORRECT

    context = one_thread()
    with context:
        assert outcome_of_child(in_child) == CORRECT
        assert numbers(libraries) <= {1}
    assert numbers(libraries) <= {N_THREADS}


def test_a_child_does_not_inherit_the_limit_of_another_thread(libraries, monkeypatch):
    monkeypatch.setattr("margins.linalg.threads.MAX_WAIT", 0.05)
    inside, may_leave = threading.Event(), threading.Event()

    def stay():
        with one_thread():
            inside.set()
            may_leave.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    assert inside.wait(60)
    assert numbers(libraries) <= {1}
    outcome = outcome_of_child(lambda: WRONG_OUTSIDE if numbers(libraries) - {N_THREADS} else CORRECT)
    may_leave.set()
    thread.join()
    assert outcome == CORRECT
    assert numbers(libraries) <= {N_THREADS}


def test_a_fork_waits_until_other_threads_are_outside_linear_algebra(libraries):
    inside, left = threading.Event(), []

    def stay():
        with one_thread():
            inside.set()
            time.sleep(0.2)
            left.append(True)

    thread = threading.Thread(target=stay)
    thread.start()
    assert inside.wait(60)
    assert outcome_of_child(lambda: CORRECT if left else FAILED) == CORRECT
    thread.join()


def test_the_limit_ends_in_any_thread_that_leaves_it(libraries):
    # A generator that is closed by another thread than the one that ran it.
    context = one_thread()
    context.__enter__()
    thread = threading.Thread(target=context.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert numbers(libraries) <= {N_THREADS}


def test_an_interrupt_while_a_context_is_left_does_not_keep_it(libraries, monkeypatch):
    def interrupted(context):
        monkeypatch.undo()
        raise KeyboardInterrupt

    context = one_thread()
    context.__enter__()
    assert numbers(libraries) <= {1}
    monkeypatch.setattr(one_thread, "leave", interrupted)
    with pytest.raises(KeyboardInterrupt):
        context.__exit__(None, None, None)
    assert numbers(libraries) <= {N_THREADS}


def test_an_interrupt_while_a_context_is_entered_leaves_nothing_behind(libraries, monkeypatch):
    def interrupted(library, n_threads):
        set_n_threads(library, n_threads)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("margins.linalg.threads.set_n_threads", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one_thread().__enter__()
    assert numbers(libraries) <= {N_THREADS}
