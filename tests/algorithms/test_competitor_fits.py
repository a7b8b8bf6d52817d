"""Fits and streams of the algorithms in test_competitors.py: phases, certificates and chunks."""

import math

import numpy as np
import pytest
from algorithm_groups import quiet

import margins


def data(seed=0, n_samples=60, distance=2.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 2, 1, -1)
    return rng.normal(size=(n_samples, 3)) + np.outer(y, [distance, 1.0, 0.0]), y


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("margitron", {"threshold": "t", "exponent": 1.0, "b": 2.0}),
            ("margin-perceptron", {"b": 2.0}),
        ),
        (
            ("margitron", {"threshold": "norm", "exponent": 1.0, "b": 2.0}),
            ("margin-perceptron", {"b": 2.0}),
        ),
        (
            ("margitron", {"threshold": "norm", "exponent": 0.0, "b": 0.5, "radius": 1.0}),
            ("pfm", {"gamma": 1.0, "eps": 0.5}),
        ),
        (("micra", {"zeta": 0.0}), ("cramma", {})),
        (("aggressive-romma", {"eps": 1.0}), ("romma", {})),
        (("ballseptron", {"radius": 0.0}), ("spa", {"lam": 1.0})),
    ],
)
def test_streams_of_two_names_are_one(one, other):
    X, y = data()
    models = [margins.get(name)(C=math.inf, **params) for name, params in (one, other)]
    for model in models:
        for _ in range(3):
            model.partial_fit(X, y, classes=[-1, 1])
    assert models[0].n_updates_ == models[1].n_updates_ > 2
    directions = [model.coef_ / np.linalg.norm(model.coef_) for model in models]
    np.testing.assert_allclose(*directions, rtol=1e-9)
    assert models[0].predict(X).tolist() == models[1].predict(X).tolist()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("margitron", {"b": 0.1, "radius": 3.0}),
        ("margitron", {"threshold": "norm", "b": 0.1, "exponent": 0.4, "radius": 3.0}),
        ("cramma", {"radius": 3.0}),
        ("micra", {"radius": 3.0}),
        ("romma", {}),
        ("aggressive-romma", {}),
        ("spa", {}),
        ("ballseptron", {"radius": 0.2}),
    ],
)
def test_stream_does_not_depend_on_the_chunks(name, params):
    X, y = data()
    whole, parts = (margins.get(name)(**params) for _ in range(2))
    whole.partial_fit(X, y, classes=[-1, 1])
    for rows in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[rows], y[rows], classes=[-1, 1])
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    assert whole.upper_bounds_ == parts.upper_bounds_
    assert whole.n_updates_ > 1


@pytest.mark.parametrize("name", ["margitron", "ballseptron"])
def test_parameters_from_a_pass_over_the_data_exclude_streams(name):
    assert not hasattr(margins.get(name)(), "partial_fit")


# ---------------------------------------------------------------------------------------- the phases


@pytest.mark.parametrize(("C", "stop"), [(1.0, "certificate"), (math.inf, "clean-pass")])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("margitron", {"threshold": "t"}),
        ("margitron", {"threshold": "norm"}),
        ("margitron", {"exponent": 0.005}),
        ("margitron", {"threshold": "norm", "exponent": 0.005}),
        ("margitron", {"b": 1e-9}),
        ("cramma", {"eta": 10.0}),
        ("cramma", {"beta": 0.0}),
        ("cramma", {"exponent": 0.3}),
        ("micra", {"zeta": 1.0}),
        ("aggressive-romma", {}),
    ],
)
def test_phases_increase_the_required_margin_until_eps_is_proven(name, params, stop, C):
    X, y = data(distance=4.0)
    model = margins.get(name)(C=C, eps=0.01, stop=stop, random_state=0, **params).fit(X, y)
    assert model.converged_
    assert model.certificates_[0].fraction >= 0.99


def test_margitron_with_an_exponent_beyond_eps_warns_with_its_certificate():
    X, y = data(distance=4.0)
    model = margins.get("margitron")(C=math.inf, eps=1e-6, exponent=1.0, max_iter=20, random_state=0)
    with pytest.warns(match="did not converge: max_iter=20 "):
        model.fit(X, y)
    assert 0.3 < model.certificates_[0].fraction < 1


@pytest.mark.parametrize("radius", [None, 0.05])
@pytest.mark.parametrize("C", [1.0, math.inf])
def test_ballseptron_keeps_its_balls_on_the_right_side(C, radius):
    X, y = data(distance=4.0)
    model = margins.get("ballseptron")(C=C, radius=radius, random_state=0).fit(X, y)
    assert model.converged_
    assert model.certificates_[0].margin > (radius or 0)
    if math.inf == C and radius is None:
        perceptron = margins.get("ballseptron")(C=C, radius=0.0, random_state=0).fit(X, y)
        assert model.certificates_[0].margin > 0.99 * perceptron.certificates_[0].margin


def test_ballseptron_with_too_large_a_radius_warns():
    X, y = data(distance=4.0)
    model = margins.get("ballseptron")(C=math.inf, radius=50.0, random_state=0)
    with pytest.warns(match="no margin exceeds .* give a smaller radius"):
        model.fit(X, y)


@quiet
@pytest.mark.parametrize("name", ["romma", "aggressive-romma"])
def test_romma_on_inseparable_samples_stays_within_doubles(name):
    X, y = data(distance=0.2)
    model = margins.get(name)(C=math.inf, max_iter=300, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert not model.converged_
    assert model.certificates_[0].upper_bound >= 0
