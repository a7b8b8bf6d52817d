"""Threads of linear algebra: one while Newton steps are made, afterwards as many as before."""

import threading

from sample_problems import clouds
from threadpoolctl import ThreadpoolController

import margins
from margins.linalg.threads import one_thread, set_n_threads


def test_threads_of_linear_algebra_are_restored_after_classes_in_threads():
    libraries = ThreadpoolController().select(user_api="blas")
    X, y = clouds(m=600, d=15, n_classes=6)
    with libraries.limit(limits=2):
        before = [library["num_threads"] for library in libraries.info()]
        for seed in range(5):
            margins.MarginClassifier(loss="hinge", eps=1e-3, n_jobs=3, random_state=seed).fit(X, y)
            assert [library["num_threads"] for library in libraries.info()] == before


def test_newton_epochs_that_overlap_share_one_limit():
    libraries = ThreadpoolController().select(user_api="blas")
    with libraries.limit(limits=2):
        before = [library["num_threads"] for library in libraries.info()]
        with one_thread():
            with one_thread():
                pass
            assert all(library["num_threads"] == 1 for library in libraries.info())
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
