"""The artificial data of Khardon & Wachman: what their text says, and what the docstring adds."""

import itertools
import math

import numpy as np
import pytest

import margins
from margins.datasets import make_noisy_halfspace, make_noisy_ring, make_separable

SHAPES = [(50, 600), (200, 600), (1, 30), (3, 7), (2, 1)]


def hyperplane(n_features, n_samples, seed):
    """w and theta, from the text of the paper; the numbers are drawn as the function draws them."""
    generator = np.random.RandomState(seed)
    while True:
        pool = generator.randint(-10, 11, size=(n_samples, n_features))
        w = np.zeros(n_features, dtype=int)
        for sample, head in zip(pool, generator.randint(2, size=n_samples), strict=True):
            w += head * sample
        if w.any():
            return w, sum(abs(int(w @ sample)) for sample in pool) / n_samples / 2


@pytest.mark.parametrize("n_features, n_samples", SHAPES)
def test_samples_are_integers_in_range_and_labels_are_signs(n_features, n_samples):
    X, y = make_noisy_halfspace(n_features, n_samples=n_samples, noise=0.1, random_state=0)
    assert X.shape == (n_samples, n_features) and X.dtype == np.float64
    assert y.shape == (n_samples,) and y.dtype == np.int64
    assert np.array_equal(X, np.rint(X)) and np.abs(X).max() <= 10
    assert set(y) <= {-1, 1}


def test_defaults_are_the_smallest_problem_of_the_paper():
    X, y = make_noisy_halfspace(random_state=3)
    again, labels = make_noisy_halfspace(50, margin=0.05, noise=0.0, n_samples=600, random_state=3)
    assert np.array_equal(X, again) and np.array_equal(y, labels)


@pytest.mark.parametrize("n_features, n_samples", SHAPES)
def test_labels_are_the_sides_of_the_hyperplane_and_the_margin_is_kept(n_features, n_samples):
    for margin, seed in itertools.product([0, 0.05, 0.75, 2.0], range(5)):
        try:
            X, y = make_noisy_halfspace(
                n_features, margin=margin, n_samples=n_samples, random_state=seed
            )
        except ValueError:  # a hyperplane from one sample may leave nothing at margin 2
            assert margin == 2 and n_samples == 1
            continue
        w, theta = hyperplane(n_features, n_samples, seed)
        score = X @ w - theta
        assert np.all(np.abs(score) >= margin * theta)
        assert np.array_equal(y, np.where(score > 0, 1, -1))


def test_the_pool_is_kept_but_for_its_discarded_samples():
    X, _ = make_noisy_halfspace(5, margin=0.5, n_samples=40, random_state=0)
    pool = np.random.RandomState(0).randint(-10, 11, size=(40, 5))
    w, theta = hyperplane(5, 40, seed=0)
    kept = pool[np.abs(pool @ w - theta) >= 0.5 * theta]
    assert 20 < len(kept) < 40
    assert np.array_equal(X[: len(kept)], kept)


def test_discarded_samples_need_not_be_replaced():
    X, y = make_noisy_halfspace(5, margin=0.5, n_samples=40, random_state=0)
    rest, labels = make_noisy_halfspace(
        5, margin=0.5, n_samples=40, replace_discarded=False, random_state=0
    )
    assert 20 < len(rest) < 40
    assert np.array_equal(rest, X[: len(rest)]) and np.array_equal(labels, y[: len(rest)])


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.25, 0.5, 1.0])
def test_noise_flips_its_share_of_the_labels_of_each_class_and_nothing_else(noise):
    X, y = make_noisy_halfspace(10, n_samples=5000, random_state=0)
    noisy_X, noisy_y = make_noisy_halfspace(10, noise=noise, n_samples=5000, random_state=0)
    assert np.array_equal(X, noisy_X)
    for label in (-1, 1):
        of_class = y == label
        deviation = math.sqrt(noise * (1 - noise) / of_class.sum())
        assert np.mean(noisy_y[of_class] != label) == pytest.approx(noise, abs=4 * deviation)


def test_random_state_determines_the_data():
    def data(random_state):
        return make_noisy_halfspace(10, noise=0.1, random_state=random_state)

    X, y = data(7)
    same, labels = data(np.random.RandomState(7))
    other, _ = data(8)
    assert np.array_equal(X, same) and np.array_equal(y, labels)
    assert not np.array_equal(X, other)
    generator = np.random.RandomState(7)
    assert not np.array_equal(data(generator)[0], data(generator)[0])
    assert not np.array_equal(data(None)[0], data(None)[0])


def test_a_sample_exactly_at_the_margin_is_kept():
    # One sample is its own w, so theta is w.x / 2, and w.x - theta is theta.
    for seed in range(20):
        X, y = make_noisy_halfspace(2, margin=1, n_samples=1, random_state=seed)
        assert np.array_equal(X[0], hyperplane(2, 1, seed)[0]) and y == 1


@pytest.mark.parametrize("margin", [12, 1e9, 1e308, np.float64(1e308), np.float32(50)])
@pytest.mark.parametrize(
    ("replace", "kept"), [(True, "30 of 3000 samples drawn"), (False, "at least one of 30 samples")]
)
def test_a_margin_without_samples_is_rejected(margin, replace, kept):
    with pytest.raises(ValueError) as error:
        make_noisy_halfspace(5, margin=margin, n_samples=30, replace_discarded=replace, random_state=0)
    assert str(error.value) == (
        f"margin of make_noisy_halfspace must be small enough to keep {kept}. "
        f"Got {margin!r}, which keeps {'0' if replace else 'none'}."
    )


@pytest.mark.parametrize(
    "name, value, allowed",
    [
        ("margin", -1, "in [0, inf)"),
        ("margin", math.inf, "in [0, inf)"),
        ("margin", math.nan, "in [0, inf)"),
        ("margin", "wide", "in [0, inf)"),
        ("noise", -0.1, "in [0, 1]"),
        ("noise", 1.1, "in [0, 1]"),
        ("noise", True, "in [0, 1]"),
        ("n_features", 0, "an integer in [1, inf)"),
        ("n_features", 2.5, "an integer in [1, inf)"),
        ("n_samples", 0, "an integer in [1, inf)"),
        ("n_samples", None, "an integer in [1, inf)"),
        ("replace_discarded", 1, "True or False"),
    ],
)
def test_bad_parameters_are_rejected(name, value, allowed):
    with pytest.raises(ValueError) as error:
        make_noisy_halfspace(**{name: value})
    assert str(error.value) == f"{name} of make_noisy_halfspace must be {allowed}. Got {value!r}."


@pytest.mark.parametrize("n_features, n_samples, margin", [(2, 100, 0.1), (1, 2, 3.0), (30, 20, 1e-3)])
@pytest.mark.parametrize("intercept", [False, "penalised", "free"])
def test_the_largest_margin_of_separable_data_is_as_passed(n_features, n_samples, margin, intercept):
    for seed in range(3):
        X, y = make_separable(n_features, margin=margin, n_samples=n_samples, random_state=seed)
        assert X.shape == (n_samples, n_features) and y.sum() == 0
        settings = {"fit_intercept": bool(intercept), "penalize_intercept": intercept != "free"}
        classifier = margins.MarginClassifier(C=math.inf, eps=1e-4, **settings).fit(X, y)
        certificate = classifier.certificates_[0]
        assert certificate.margin <= margin * (1 + 1e-9) <= certificate.upper_bound * (1 + 2e-9)
        assert certificate.margin >= (1 - 1e-4) * certificate.upper_bound


@pytest.mark.parametrize("margin", [0, 0.1, 0.9])
def test_the_ring_is_as_far_from_the_circle_as_the_disc_and_its_noise_flips_labels(margin):
    X, y = make_noisy_ring(1000, margin=margin, noise=0, random_state=0)
    distances = y * (1 - np.hypot(*X.T))
    for side in (-1, 1):
        assert distances[y == side].min() == pytest.approx(margin, abs=1e-12)
        assert (y == side).sum() == 500
    again, flipped = make_noisy_ring(1000, margin=margin, noise=0.2, random_state=0)
    assert np.array_equal(again, X) and 0.15 < (flipped != y).mean() < 0.25
    assert np.array_equal(make_noisy_ring(50, noise=1, random_state=3)[1], [-1, 1] * 25)


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (make_separable, {"margin": 0}, "margin of make_separable must be"),
        (make_separable, {"n_samples": 1}, "n_samples of make_separable must be"),
        (make_separable, {"n_features": 0}, "n_features of make_separable must be"),
        (make_noisy_ring, {"margin": 1}, "margin of make_noisy_ring must be"),
        (make_noisy_ring, {"n_samples": 1.5}, "n_samples of make_noisy_ring must be"),
        (make_noisy_ring, {"noise": 2}, "noise of make_noisy_ring must be"),
    ],
)
def test_sets_of_known_margin_reject_what_is_not_allowed(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)
