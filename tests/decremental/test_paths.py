"""Paths end at the solution without the samples: against solutions from scratch."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import margins
from margins.decremental import paths as module
from margins.decremental.paths import Paths
from margins.decremental.problem import Gram
from margins.decremental.solution import solution_of
from tests.helpers.small_solutions import KINDS, clouds, problem_of, solved


def solution_without(X, signs, group, *kind):
    kept = np.setdiff1d(np.arange(len(signs)), group)
    alpha = np.zeros(len(signs))
    solution = solved(X[kept], signs[kept], *kind)
    alpha[kept] = solution.alpha
    return alpha, solution


def end_without(paths, group):
    [end] = paths.ends([np.asarray(group)])
    return end


def weights_of(X, signs, alpha):
    return X.T @ (alpha * signs)


@pytest.mark.parametrize(("loss", "is_free"), KINDS)
def test_paths_end_at_the_solution_without_a_group(loss, is_free):
    X, signs = clouds(1, m=60)
    solution = solved(X, signs, loss, is_free)
    for seed in range(6):
        group = np.random.default_rng(seed).permutation(60)[:7]
        end = end_without(Paths(solution), group)
        alpha, _ = solution_without(X, signs, group, loss, is_free)
        expected = weights_of(X, signs, alpha)
        np.testing.assert_allclose(weights_of(X, signs, end.alpha), expected, atol=1e-6)


def test_few_samples_near_are_as_good_as_all(monkeypatch):
    X, signs = clouds(2, m=120)
    solution = solved(X, signs, "hinge", False, 10.0)
    numbers = np.flatnonzero(solution.alpha > 0)[:10]
    ends = [end_without(Paths(solution), [number]).alpha for number in numbers]
    monkeypatch.setattr(module, "N_NEAR", 2)
    for number, expected in zip(numbers, ends, strict=True):
        found = end_without(Paths(solution), [number]).alpha
        np.testing.assert_allclose(
            weights_of(X, signs, found), weights_of(X, signs, expected), atol=1e-9
        )


def test_a_path_that_is_too_long_is_left(monkeypatch):
    X, signs = clouds(3)
    solution = solved(X, signs, "hinge", False, 100.0)
    monkeypatch.setattr(module, "MAX_PIVOTS", 0)
    ends = [end_without(Paths(solution), [n]) for n in np.flatnonzero(solution.alpha == 100.0)]
    assert any(end is None for end in ends)


def test_columns_that_do_not_fit_are_computed_again(monkeypatch):
    X, signs = clouds(4, m=120)
    solution = solved(X, signs, "squared_hinge", True)
    groups = [np.array([number]) for number in np.flatnonzero(solution.alpha > 0)]
    ends = Paths(solution).ends(groups)
    monkeypatch.setattr(module, "MAX_BYTES", 0)
    monkeypatch.setattr(module, "MAX_NEAR", 34)
    paths = Paths(solution)
    assert len(paths._columns) == 68 < len(groups)
    for end, expected in zip(paths.ends(groups), ends, strict=True):
        np.testing.assert_allclose(end.alpha, expected.alpha, atol=1e-12)


def test_rounded_pivots_of_duplicates_are_made_up_for():
    """The ridge alone divides a sum among duplicates: pivots may end at the wrong sides."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(80, 5)).astype(float)
    X = np.vstack([X, X[:40]])
    signs = np.where(rng.random(len(X)) < 0.2 + 0.3 * X[:, 0], 1.0, -1.0)
    classifier = margins.MarginClassifier(loss="hinge", kernel="rbf", gamma=0.1, eps=1e-9).fit(X, signs)
    alpha = np.zeros(len(X))
    alpha[classifier.support_] = np.abs(classifier.dual_coef_[0])
    inner = Gram(rbf_kernel(X, gamma=0.1) + 1.0)
    solution = solution_of(problem_of(X, signs, "hinge", False, inner=inner), alpha, 0.0)
    paths = Paths(solution)
    for number in np.flatnonzero(solution.alpha > 0):
        end = end_without(paths, [number])
        assert end is not None
        assert end.alpha.min() > -1e-8 and end.alpha.max() < 1 + 1e-8
