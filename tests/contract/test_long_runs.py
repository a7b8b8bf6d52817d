"""Ctrl-C ends any fit at once, and leaves the estimator as it was; memory stays flat over many fits."""

import contextlib
import functools
import os
import signal
import threading
import time

import numpy as np
import pytest
import soak
from algorithm_groups import NAMES, REPRESENTATIVES

import margins

pytestmark = [
    # An interrupt may come while coverage holds a lock of its own, which then stays locked.
    pytest.mark.no_cover,
    pytest.mark.usefixtures("no_collection"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(os.name == "nt", reason="os.kill sends no Ctrl-C there"),
]

LIMIT = 0.5  # seconds of the process' own time, so that other processes do not count
# Without a separating hyperplane these end after so few epochs that no fit of a test is long.
SHORT = {"alpha-bound", "lambda-trick", "servedio-average"}


@functools.cache
def noise(m, d):
    rng = np.random.default_rng(0)
    return rng.normal(size=(m, d)), np.where(rng.random(m) < 0.5, 1, -1)


def endless(name, **params):
    """An estimator whose fit takes long."""
    declared = margins.get(name)().get_params()
    params = {"random_state": 0, "max_iter": 10**7} | params
    if "eps" in declared:
        params.setdefault("eps", 1e-9)
    if name == "pfm":
        params.setdefault("gamma", 1e-3)
    return margins.get(name)(**params)


def interrupted_after(fit, delay):
    """The time that `fit` takes from Ctrl-C to its end, and whether KeyboardInterrupt ended it."""
    sent, ended = [], threading.Event()

    def interrupt():
        if not ended.wait(delay):
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    caught = False
    try:
        thread.start()
        fit()
        ended.set()
        thread.join()
    except KeyboardInterrupt:
        caught = True
    elapsed = time.process_time() - sent[0] if sent else 0.0
    thread.join()
    if sent and not caught:  # the signal came after the last check
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(0.01)
    return elapsed, caught


@pytest.mark.parametrize(
    "name",
    [name if name in REPRESENTATIVES else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_ctrl_c_ends_a_long_fit_of_every_algorithm(name):
    X, y = noise(3000, 500)
    estimator = endless(name)
    before = dict(estimator.__dict__)
    elapsed, caught = interrupted_after(lambda: estimator.fit(X, y), 0.1)
    assert caught or name in SHORT | {"auto"}
    assert elapsed < LIMIT
    if caught:
        assert estimator.__dict__ == before


@pytest.mark.parametrize(
    ("name", "params"),
    [
        *(("auto", {"solver": name}) for name in ("conjugate", "unlearning", "dcd", "newton")),
        *((name, {}) for name in ("second-order-perceptron", "budget-perceptron", "mpu", "alma")),
    ],
)
def test_ctrl_c_is_honoured_within_an_epoch_over_long_rows(name, params):
    # Two passes over a matrix of 32 MB for every mistake; a pass over all samples takes half a second.
    X, y = noise(6000, 2000)
    estimator = endless(name, **params, **({"loss": "hinge", "C": 100.0} if params else {}))
    elapsed, caught = interrupted_after(lambda: estimator.fit(X, y), 0.2)
    assert caught
    assert elapsed < LIMIT


@pytest.mark.parametrize(("name", "kernel"), [("pdm", "poly"), ("dcd", "rbf"), ("auto", "rbf")])
def test_ctrl_c_is_honoured_while_rows_of_a_kernel_are_computed(name, kernel):
    # A row takes about 5 ms, and 32 of them are computed together.
    X, y = noise(12_000, 1000)
    elapsed, caught = interrupted_after(
        lambda: endless(name, kernel=kernel, cache_size=1.0).fit(X, y), 0.3
    )
    assert caught
    assert elapsed < LIMIT


@pytest.mark.parametrize("name", ["perceptron", "second-order-perceptron", "auto"])
def test_ctrl_c_ends_a_fit_of_classes_in_threads(name):
    X, _ = noise(3000, 500)
    y = np.arange(3000) % 4
    before = set(threading.enumerate())
    elapsed, caught = interrupted_after(lambda: endless(name, n_jobs=2, C=100.0).fit(X, y), 0.2)
    assert caught or name == "auto"
    assert elapsed < LIMIT
    for thread in set(threading.enumerate()) - before:
        if "(train_" in thread.name:
            thread.join(10.0)
            assert not thread.is_alive(), "it still trains after Ctrl-C"


needs_statm = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="no source of memory in use"
)


@needs_statm
@pytest.mark.slow
def test_memory_stays_flat(capsys):
    names = ["auto", "voted-perceptron"]
    arguments = ["--fits", "20", "--interrupts", "20", "--plugins", "20", "--only", *names]
    assert soak.main(arguments) == 0
    assert "interrupted fits: 20 times" in capsys.readouterr().out


@needs_statm
@pytest.mark.slow
def test_memory_of_every_algorithm_stays_flat():
    assert soak.main(["--fits", "200", "--interrupts", "100", "--plugins", "50"]) == 0


@needs_statm
@pytest.mark.slow
def test_a_leak_is_found():
    kept = []
    assert soak.growth(lambda: kept.append(bytearray(20_000)), 100) > soak.LIMIT
    assert soak.growth(lambda: kept.append([object() for _ in range(500)]), 100) > soak.LIMIT
