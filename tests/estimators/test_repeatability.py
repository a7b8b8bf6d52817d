"""Fits can be repeated: parameters, seeds, threads, and earlier fits.

Copies and seeds of every algorithm are checked by `margins.testing.check_algorithm`: tests/testing.
"""

import dataclasses
import math

import joblib
import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, AVERAGE, REPRESENTATIVES, quiet
from fitted_clouds import assert_same_fit, by_rules, clouds, make
from numpy.testing import assert_allclose

each_representative = pytest.mark.parametrize("name", REPRESENTATIVES)


# -------------------------------------------------------------------------------------------- parameters


def test_parameters_are_documented_keywords_with_their_declared_defaults():
    for name, algorithm in ALGORITHMS.items():
        defaults = {field.name: field.default for field in dataclasses.fields(algorithm)}
        assert algorithm().get_params(deep=False) == defaults, name
        for key, default in defaults.items():
            assert f"\n{key} : " in algorithm.__doc__, (name, key)
            assert f"default={default!r}" in algorithm.__doc__, (name, key)
        with pytest.raises(TypeError, match=rf"{algorithm.__name__}\..*positional"):
            algorithm(1.0)
        with pytest.raises(TypeError, match=rf"{algorithm.__name__}\..*'gama'"):
            algorithm(gama=1.0)


@quiet
@each_representative
def test_fit_returns_self_and_leaves_the_parameters_alone(name):
    X, y = clouds()
    classifier = make(name, random_state=0, C=1.0, class_weight={1: 2.0})
    before = dict(vars(classifier))
    assert classifier.fit(X, y) is classifier
    public = {key: value for key, value in vars(classifier).items() if not key.startswith("_")}
    assert {key: value for key, value in public.items() if not key.endswith("_")} == before


@quiet
@each_representative
def test_second_fit_forgets_the_first(name):
    X, y = clouds(n_classes=3, distance=6)
    again = make(name, C=1.0, random_state=0, max_iter=50).fit(X, y)
    hard = {"C": math.inf, **({"gamma": 0.1} if name == "pfm" else {})}
    binary = y < 2
    again.set_params(**hard).fit(X[binary, :3], y[binary])
    fresh = make(name, random_state=0, max_iter=50, **hard).fit(X[binary, :3], y[binary])
    assert_same_fit(again, fresh)


# -------------------------------------------------------------------------------------- order and chance


@quiet
@pytest.mark.parametrize("name", ["auto", "pdm", "voted-perceptron", "alma"])
def test_number_of_jobs_changes_not_one_bit(name):
    X, y = clouds(n_classes=4, n_samples=120)
    alone = make(name, n_jobs=1, random_state=3, max_iter=30).fit(X, y)
    assert alone.decision_function(X).shape == (120, 4)
    for n_jobs in (3, -1, None):
        together = make(name, n_jobs=n_jobs, random_state=3, max_iter=30).fit(X, y)
        assert_same_fit(together, alone)


@quiet
def test_fit_ignores_a_process_backend_that_surrounds_it():
    X, y = clouds(n_classes=4)
    alone = make("pdm", random_state=3).fit(X, y)
    with joblib.parallel_config("loky", n_jobs=2):
        together = make("pdm", random_state=3).fit(X, y)
    assert_same_fit(together, alone)


@quiet
@each_representative
def test_random_state_decides_the_result(name):
    X, y = clouds(n_classes=3)
    params = {"max_iter": 30, **by_rules(name)}
    one = make(name, random_state=7, **params).fit(X, y)
    assert_same_fit(make(name, random_state=7, **params).fit(X, y), one)
    generator = np.random.RandomState(7)
    assert_same_fit(make(name, random_state=generator, **params).fit(X, y), one)
    # A generator keeps its state between fits; and each seed gives an order of its own.
    for random_state in (generator, 8):
        other = make(name, random_state=random_state, **params).fit(X, y)
        if name == AVERAGE:  # a sum has no order but that of its roundings
            assert_allclose(other.coef_, one.coef_, rtol=1e-12)
        else:
            assert not np.array_equal(other.decision_function(X), one.decision_function(X))


def test_newton_steps_over_so_few_samples_have_no_order():
    name = "auto"
    X, y = clouds(n_classes=3)
    one, other = (make(name, random_state=seed).fit(X, y) for seed in (7, 8))
    assert_same_fit(other, one)
