"""Rankings over data sets: ranks, and tests that are SciPy's."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import make_classification

import margins
from margins.model_selection import Ranking, parameter_search, rank
from margins.model_selection.ranks import _holm

NAMES = ["a", "b", "c", "d"]


def ranking(n=12, seed=0):
    generator = np.random.default_rng(seed)
    scores = generator.random((n, 4)) * 0.1 + [0.8, 0.82, 0.85, 0.9]
    return Ranking(scores, NAMES, [f"data {i}" for i in range(n)], "accuracy")


@pytest.fixture(scope="module")
def studies():
    found = {}
    for seed in range(3):
        X, y = make_classification(n_samples=60, flip_y=0.2, random_state=seed)
        found[f"data {seed}"] = {
            name: parameter_search(margins.get(name)(max_iter=5), {}, X, y, cv=3, random_state=0)
            for name in ("pam", "pa-i", "averaged-perceptron")
        }
    return found


def test_the_best_score_has_rank_1_and_ties_share_the_mean_rank():
    found = Ranking([[0.9, 0.8, 0.8], [0.1, 0.2, 0.3]], ["a", "b", "c"], ["x", "y"])
    assert_array_equal(found.ranks, [[1, 2.5, 2.5], [3, 2, 1]])
    assert found.mean_ranks.tolist() == [2, 2.25, 1.75]


def test_friedman_matches_scipy():
    found = ranking()
    statistic, p_value = found.friedman()
    n, k = found.scores.shape
    # The formula of the source, without ties.
    expected = 12 * n / (k * (k + 1)) * ((found.mean_ranks**2).sum() - k * (k + 1) ** 2 / 4)
    assert statistic == pytest.approx(expected)
    assert p_value == pytest.approx(stats.chi2.sf(expected, k - 1))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_matches_the_published_table(k, q):
    # q of the source's table 5 (a), at 95 %.
    scores = np.random.default_rng(0).random((14, k))
    found = Ranking(scores, [str(i) for i in range(k)], [str(i) for i in range(14)])
    assert_allclose(found.critical_difference(), q * math.sqrt(k * (k + 1) / (6 * 14)), rtol=1e-3)


def test_wilcoxon_matches_scipy_for_every_pair():
    found = ranking()
    tests = found.wilcoxon()
    assert [(test.first, test.second) for test in tests][:3] == [("a", "b"), ("a", "c"), ("a", "d")]
    expected = stats.wilcoxon(found.scores[:, 0], found.scores[:, 3])
    assert tests[2].p_value == pytest.approx(expected.pvalue)
    assert all(test.corrected_p_value >= test.p_value for test in tests)


def test_equal_scores_have_no_p_value():
    scores = np.random.default_rng(0).random((6, 2))[:, [0, 0, 1]]
    equal, *others = Ranking(scores, ["a", "b", "c"], list("uvwxyz")).wilcoxon()
    assert math.isnan(equal.p_value) and math.isnan(equal.corrected_p_value)
    assert all(0 < test.p_value <= test.corrected_p_value for test in others)


def test_holm_multiplies_the_least_by_their_number_and_never_falls():
    assert_allclose(_holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    assert_allclose(_holm([0.9, 0.5]), [1.0, 1.0])


def test_studies_are_ranked_by_their_means(studies):
    found = rank(studies)
    assert found.algorithms == ["pam", "pa-i", "averaged-perceptron"] and found.metric == "accuracy"
    assert found.scores[1, 2] == studies["data 1"]["averaged-perceptron"].mean()
    assert "on 3 data sets, mean ranks: " in repr(found)


def test_what_cannot_be_ranked_is_an_error(studies):
    one = {"data 0": studies["data 0"]}
    with pytest.raises(ValueError, match="at least 2 data sets and 2 algorithms. Got 1 and 3"):
        rank(one)
    with pytest.raises(ValueError, match="must have the same algorithms on every data set"):
        rank({**one, "other": {"pam": studies["data 1"]["pam"], "pa-i": studies["data 1"]["pa-i"]}})
    with pytest.raises(
        TypeError, match="studies of rank must hold Study objects. Got 1 for 'pam' on 'x'"
    ):
        rank({**one, "x": {"pam": 1}})
    with pytest.raises(ValueError, match=r"the shape \(data sets, algorithms\), here \(2, 2\)"):
        Ranking([[1, 2, 3]], ["a", "b"], ["x", "y"])
    with pytest.raises(ValueError, match="must not be nan"):
        Ranking([[1, math.nan], [1, 2]], ["a", "b"], ["x", "y"])
    with pytest.raises(ValueError, match="at least 3 algorithms. Got 2"):
        Ranking([[1, 2], [1, 2]], ["a", "b"], ["x", "y"]).friedman()
