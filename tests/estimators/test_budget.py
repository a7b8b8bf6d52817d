"""Budget perceptrons, against a plain replay on whole numbers, and within their bounds."""

import math
import pickle

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from properties import examples
from sample_problems import orders_of_fit, seed_of
from scipy import sparse

import margins
from margins._update import WeightVector
from margins.data.binary_data import make_binary_data, rows_of
from margins.rules import Additive, FixedThreshold, NoShrink, Rules
from margins.solvers.custom._budget import Cache

Budget, Random = margins.get("budget-perceptron"), margins.get("random-budget-perceptron")
SEEDS = st.integers(0, 10**6)


def integers(seed, m=25, d=3, separable=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (m, d)).astype(float)
    scores = X @ rng.integers(-3, 4, d) + 0.5
    y = np.where(scores > 0, 1, -1) if separable else rng.choice([-1, 1], m)
    y[0], y[-1] = (y[0], y[-1]) if separable else (1, -1)
    return X, y


class Replay:
    """Crammer, Kandola & Singer (2003) and Cavallanti et al. (2007), with a list of samples."""

    def __init__(self, data, beta, size=None, generator=None):
        self.data, self.beta, self.size, self.generator = data, beta, size, generator
        self.cache = []
        self.largest = self.n_changes = self.n_removed = 0

    @property
    def w(self):
        return self.data[self.cache].sum(axis=0) if self.cache else np.zeros(self.data.shape[1])

    def without(self):
        """y_i.(w - y_i) of all members."""
        return [self.data[i] @ (self.w - self.data[i]) for i in self.cache]

    def remove(self, position):
        del self.cache[position]
        self.n_changes += 1
        self.n_removed += 1

    def epoch(self, order):
        chances = np.zeros(len(order)) if self.generator is None else self.generator.random(len(order))
        n_added = 0
        for k, chance in zip(order, chances, strict=True):
            if self.data[k] @ self.w > self.beta:
                continue
            n_added += 1
            self.n_changes += 1
            if self.size and len(self.cache) == self.size:
                if self.generator is None:
                    self.remove(int(np.argmax(self.without())))
                else:
                    self.remove(int(chance * self.size))
            self.cache.append(k)
            while not self.size and self.cache and max(self.without()) > self.beta:
                self.remove(int(np.argmax(self.without())))
            self.largest = max(self.largest, len(self.cache))
        return n_added


VARIANTS = {
    "distilled": (Budget, {}),
    "fixed size": (Budget, {"size": 4}),
    "size 1": (Budget, {"size": 1}),
    "random": (Random, {"size": 4}),
    "large random": (Random, {"size": 1000}),
}
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@each_variant
@examples(20)
@given(
    C=st.sampled_from([math.inf, 0.5]),
    beta=st.sampled_from([0.0, 0.25, 1.0]),
    seed=SEEDS,
    n_epochs=st.integers(1, 4),
)
def test_fit_equals_the_replay_bit_for_bit(variant, C, beta, seed, n_epochs):
    X, y = integers(seed)
    algorithm, params = VARIANTS[variant]
    data = oracles.data_of(X, y, 1.0, 0.5 / C)
    fit = algorithm(C=C, beta=beta, max_iter=n_epochs, random_state=5, **params).fit(X, y)
    generator = np.random.default_rng((seed_of(5), 1)) if algorithm is Random else None
    threshold = beta * max(row @ row for row in data)
    replay = Replay(data, threshold, params.get("size"), generator)
    counts = [replay.epoch(order) for order in orders_of_fit(len(y), fit.n_iter_, 5)]
    assert_array_equal(fit.cache_[0], replay.cache)
    assert_array_equal(np.append(fit.coef_[0], fit.intercept_[0]), replay.w[: X.shape[1] + 1])
    assert fit.n_updates_ == replay.n_changes
    assert [epoch.mistakes for epoch in fit.learning_curve_[0]] == counts
    assert fit.converged_ == (counts[-1] == 0)


@each_variant
@pytest.mark.parametrize(
    ("C", "layout"), [(math.inf, np.asarray), (0.5, sparse.csr_array), (0.5, np.float32)]
)
def test_stream_in_any_chunks_equals_the_replay(variant, C, layout):
    algorithm, params = VARIANTS[variant]
    X, y = integers(7, m=40)
    data = oracles.data_of(X, y, 1.0, 0.5 / C)
    generator = np.random.default_rng((seed_of(3), 1)) if algorithm is Random else None
    replay = Replay(data, 0.0, params.get("size"), generator)
    replay.epoch(np.arange(40))
    for sizes in ([40], [1] * 40, [7, 13, 1, 19]):
        classifier = algorithm(C=C, random_state=3, **params)
        begin = 0
        for size in sizes:
            rows = slice(begin, begin + size)
            classifier.partial_fit(layout(X[rows]), y[rows], classes=[-1, 1])
            if begin == 7:
                classifier = pickle.loads(pickle.dumps(classifier))
            begin += size
        assert_array_equal(classifier.cache_[0], replay.cache)
        assert_array_equal(np.append(classifier.coef_[0], classifier.intercept_[0]), replay.w[:4])
        assert classifier.n_updates_ == replay.n_changes
        assert classifier.upper_bounds_[0] == pytest.approx(np.linalg.norm(replay.w) / len(replay.cache))


def test_stream_keeps_the_rows_of_its_members_only():
    X, y = integers(4, m=300)
    classifier = Budget(size=6)
    for rows in np.array_split(np.arange(300), 10):
        classifier.partial_fit(X[rows], y[rows], classes=[-1, 1])
    (stream,) = classifier._state.problems
    assert stream.X.shape == (6, 3)
    assert_array_equal(stream.X, X[classifier.cache_[0]])


def test_cache_needs_a_size_and_dual_variables():
    with pytest.raises(ValueError, match=r"^size of Cache must be an integer in \[0, inf\)\. Got -1\.$"):
        Cache(-1)
    X, y = integers(0)
    rows = rows_of(X)
    data = make_binary_data(rows, rows.sqnorms() + 1, y > 0, 1.0, 0.0, math.inf)
    rules = Rules(FixedThreshold(0.0), Additive(most=1), NoShrink())
    with pytest.raises(ValueError, match="^A Cache needs dual variables"):
        Cache().full_epoch(data, WeightVector(3), rules, np.arange(25, dtype=np.int32))
