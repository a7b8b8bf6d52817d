"""Threads that share the items of one call: order, parts, errors, and the end of the threads."""

import gc
import threading

import pytest

from margins.linalg.threads import Team


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
