"""Sums over blocks of samples: the same, bit for bit, whichever threads compute them."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import margins
from margins.linalg.threads import MAX_BLOCKS, MIN_ELEMENTS, blocks_of, current_team, team_of


@pytest.mark.parametrize("n", [1, 7, 1000, 10**6])
@pytest.mark.parametrize("n_elements", [0, MIN_ELEMENTS, 5 * MIN_ELEMENTS + 1, 10**12])
def test_blocks_cover_all_samples_once(n, n_elements):
    blocks = blocks_of(n, n_elements)
    bounds = [bound for block in blocks for bound in (block.start, block.stop)]
    assert (bounds[0], bounds[-1]) == (0, n)
    assert bounds[1:-1:2] == bounds[2::2] and bounds == sorted(bounds)
    assert len(blocks) == max(1, min(n, MAX_BLOCKS, n_elements // MIN_ELEMENTS))


def test_sums_that_are_long_for_their_blocks_have_fewer():
    n_elements = 20 * MIN_ELEMENTS
    assert len(blocks_of(10**6, n_elements, MIN_ELEMENTS // 16)) == 20
    assert len(blocks_of(10**6, n_elements, MIN_ELEMENTS // 8)) == 10
    assert len(blocks_of(10**6, n_elements, MIN_ELEMENTS)) == 1


def test_a_team_is_that_of_a_context_and_of_a_thread():
    teams = [current_team()]
    with team_of(2):
        teams.append(current_team())
        with team_of(1):
            teams.append(current_team())
        other = threading.Thread(target=lambda: teams.append(current_team()))
        other.start()
        other.join()
    assert teams[1] is teams[2]
    assert teams[0] is teams[3] is current_team() is not teams[1]


SHAPES = {
    "dense": (50_000, 50, 1.0),
    "float32 by columns": (50_000, 50, 1.0),
    "CSR, small Hessian": (60_000, 400, 0.1),
    "CSR, many features": (30_000, 5_000, 0.01),
}


def large(kind):
    """More elements than two blocks have, with noisy labels."""
    m, d, density = SHAPES[kind]
    rng = np.random.default_rng(0)
    if density == 1:
        X = rng.normal(size=(m, d))
    else:
        columns = np.sort(rng.integers(0, d, (m, int(density * d)), dtype=np.int32), axis=1)
        starts = np.arange(m + 1, dtype=np.int32) * columns.shape[1]
        X = sparse.csr_array((rng.normal(size=columns.size), columns.ravel(), starts), (m, d))
        X.sum_duplicates()
    if kind == "float32 by columns":
        X = np.asfortranarray(X, dtype=np.float32)
    scores = X @ rng.normal(size=d)
    return X, scores + 0.5 * scores.std() * rng.normal(size=m) > 0


@pytest.mark.parametrize(
    ("kind", "loss", "penalize_intercept"),
    [
        ("dense", "squared_hinge", False),
        ("dense", "hinge", True),
        ("float32 by columns", "hinge", False),
        ("CSR, small Hessian", "squared_hinge", True),
        ("CSR, small Hessian", "hinge", False),
        ("CSR, many features", "squared_hinge", False),
        ("CSR, many features", "hinge", True),
    ],
)
def test_fits_do_not_depend_on_n_jobs(kind, loss, penalize_intercept):
    X, y = large(kind)
    params = {"loss": loss, "C": 0.01, "eps": 1e-2, "penalize_intercept": penalize_intercept}
    one, other = (
        margins.MarginClassifier(random_state=0, n_jobs=n_jobs, **params).fit(X, y) for n_jobs in (1, 3)
    )
    assert other.converged_ and other.certificates_ == one.certificates_
    assert_array_equal(other.coef_, one.coef_)
    assert_array_equal(other.dual_coef_, one.dual_coef_)
    assert other.intercept_ == one.intercept_
    assert other.n_iter_ == one.n_iter_


def test_threads_share_the_passes_of_a_fit(monkeypatch):
    X, y = large("dense")
    threads, original = set(), margins.linalg.threads.Team.map

    def watched(team, function, items):
        def noted(item):
            threads.add(threading.get_ident())
            return function(item)

        return original(team, noted, items)

    monkeypatch.setattr(margins.linalg.threads.Team, "map", watched)
    margins.MarginClassifier(n_jobs=2, random_state=0).fit(X, y)
    assert len(threads) > 1
    threads.clear()
    margins.MarginClassifier(n_jobs=1, random_state=0).fit(X, y)
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: margins.MarginClassifier(kernel="rbf", loss="hinge", n_jobs=2).fit(X, y),
        lambda X, y: margins.MarginClassifierCV(kernel="rbf", loss="hinge", Cs=2, cv=2, n_jobs=2).fit(
            X, y
        ),
        lambda X, y: margins.svm_path(X, y, Cs=2, kernel="rbf", loss="hinge", n_jobs=2),
    ],
    ids=["fit", "CV", "path"],
)
def test_threads_share_the_rows_of_a_kernel(call, monkeypatch):
    X, y = large("dense")
    sizes, original = set(), margins.linalg.threads.Team.map

    def watched(team, function, items):
        sizes.add(team._n_threads)
        return original(team, function, items)

    monkeypatch.setattr(margins.linalg.threads.Team, "map", watched)
    call(X[:1100], y[:1100])  # few samples have one loop, without rows to share
    assert 2 in sizes
