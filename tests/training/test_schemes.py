"""Schemes of binary problems for several classes: decisions, votes, and arrays of their problems."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.multiclass import _ovr_decision_function

import margins
from margins.training.schemes import OneVsOne, scheme_of


@given(st.integers(3, 6), st.integers(0, 2**32 - 1))
def test_votes_give_the_decisions_of_scikit_learn(n_classes, seed):
    scheme = OneVsOne(n_classes)
    scores = np.random.default_rng(seed).normal(size=(7, scheme.n_problems))
    expected = _ovr_decision_function(scores < 0, -scores, n_classes)
    assert_allclose(scheme.decision(scores), expected, rtol=1e-12)


def test_the_first_of_classes_with_equal_votes_is_predicted():
    scheme, classes = scheme_of("ovo", 3), np.array(["a", "b", "c"])
    # a beats b, c beats a, b beats c: one vote each, and c has the largest sum of scores.
    scores = np.array([[0.1, -5.0, 0.1]])
    assert scheme.predict(scores, classes).tolist() == ["a"]
    assert scheme.decision(scores).argmax() == 2
    assert scheme.predict(np.zeros((1, 3)), classes).tolist() == ["c"]  # 0 is no vote for the first


def test_arrays_of_problems_are_gathered_and_found_again():
    codes = np.array([2, 0, 1, 1, 0, 2, -1, 3])
    scheme = OneVsOne(4)
    of_pairs = [
        np.random.default_rng(index).normal(size=np.isin(codes, pair).sum())
        for index, pair in enumerate(scheme.pairs)
    ]
    gathered = scheme.gathered(of_pairs, codes)
    assert gathered.shape == (3, 8) and not gathered[:, 6].any()
    for index, values in enumerate(of_pairs):
        assert_array_equal(scheme.of_problem(gathered, codes, index), values)
    # The number of sample 2, of class 1, in the pair with class 3 is in row 2: after those with 0 and 2.
    assert gathered[2, 2] == of_pairs[scheme.pairs.index((1, 3))][0]


def test_fits_look_a_few_times_at_each_pair_of_classes(monkeypatch):
    looks, names, y = [], [], np.arange(48) % 12
    name = OneVsOne.name
    monkeypatch.setattr(OneVsOne, "is_absent", lambda self, index, absent: bool(looks.append(index)))
    monkeypatch.setattr(OneVsOne, "name", lambda *args: names.append(args) or name(*args))
    margins.MarginClassifier(multi_class="ovo").fit(np.eye(12)[y], y)
    assert len(looks) <= 2 * 66 and len(names) <= 66
    margins.MarginClassifierCV(multi_class="ovo", kernel="rbf", Cs=[1.0], cv=2).fit(np.eye(12)[y], y)
    assert len(names) <= 6 * 66
