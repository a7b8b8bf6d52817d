"""Fits can be repeated: copies, parameters, seeds, threads, and earlier fits."""

import dataclasses
import math
import pickle

import joblib
import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, AVERAGE, NAMES, quiet
from fitted_clouds import assert_same_fit, by_rules, clouds, make, state
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone


def names_of_parameters(algorithm):
    return [field.name for field in dataclasses.fields(algorithm)]


# ------------------------------------------------------------------------------------ copies, parameters


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_pickled_classifier_is_the_same_classifier(name):
    X, y = clouds(n_classes=3)
    classifier = make(name, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.get_params() == classifier.get_params()
    assert_same_fit(copy, classifier)
    assert_array_equal(copy.predict(X), classifier.predict(X))
    assert_array_equal(copy.decision_function(X), classifier.decision_function(X))


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_clone_is_untrained_and_trains_to_the_same_classifier(name):
    X, y = clouds()
    classifier = make(name, C=3.0, random_state=5).fit(X, y)
    copy = clone(classifier)
    assert not state(copy)
    assert copy.get_params() == classifier.get_params()
    assert_same_fit(copy.fit(X, y), classifier)
    assert_array_equal(copy.predict(X), classifier.predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_kept_as_given(name):
    given = {key: object() for key in names_of_parameters(ALGORITHMS[name])}
    classifier = ALGORITHMS[name](**given)
    assert classifier.get_params(deep=False) == given
    other = ALGORITHMS[name]()
    assert other.set_params(**given) is other
    assert other.get_params(deep=False) == given
    for key, value in given.items():
        assert getattr(classifier, key) is value


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_documented_keywords_with_their_declared_defaults(name):
    algorithm = ALGORITHMS[name]
    defaults = {field.name: field.default for field in dataclasses.fields(algorithm)}
    assert algorithm().get_params(deep=False) == defaults
    for key, default in defaults.items():
        assert f"\n{key} : " in algorithm.__doc__
        assert f"default={default!r}" in algorithm.__doc__
    with pytest.raises(TypeError):
        algorithm(1.0)
    with pytest.raises(TypeError):
        algorithm(gama=1.0)


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_fit_returns_self_and_leaves_the_parameters_alone(name):
    X, y = clouds()
    classifier = make(name, random_state=0, class_weight={1: 2.0})
    before = dict(vars(classifier))
    assert classifier.fit(X, y) is classifier
    public = {key: value for key, value in vars(classifier).items() if not key.startswith("_")}
    assert {key: value for key, value in public.items() if not key.endswith("_")} == before


@quiet
@pytest.mark.parametrize("name", NAMES)
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
@pytest.mark.parametrize("name", NAMES)
def test_number_of_jobs_changes_not_one_bit(name):
    X, y = clouds(n_classes=4, n_samples=120)
    alone = make(name, n_jobs=1, random_state=3, max_iter=30).fit(X, y)
    assert alone.decision_function(X).shape == (120, 4)
    for n_jobs in (2, -1, None):
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
@pytest.mark.parametrize("name", NAMES)
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


@quiet
@pytest.mark.parametrize("name", NAMES)
def test_global_random_state_is_left_alone_by_a_seeded_fit(name):
    X, y = clouds()
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    make(name, random_state=1).fit(X, y)
    assert np.random.random() == expected  # noqa: NPY002
