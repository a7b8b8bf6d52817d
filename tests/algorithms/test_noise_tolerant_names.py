"""The noise-tolerant perceptrons that have names: presets, uneven margins and Servedio's average."""

import math

import numpy as np
import oracles_noise_tolerant as oracle
import pytest
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from noise_tolerant_replay import (
    KW,
    OF_ALL_SAMPLES,
    SEEDS,
    SETTINGS,
    assert_replays,
    clouds,
    perceptron,
    queries_of,
    replay,
    some,
    without_zero_rows,
)
from numpy.testing import assert_allclose, assert_array_equal
from problems import assert_same_fit
from properties import examples

import margins

# These tests do not depend on whether a run ends with an epoch without updates.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


PRESETS = {
    "pam": {"tau": 1.0},
    "lambda-trick": {"lam": 1.0},
    "alpha-bound": {"alpha_bound": 20},
    "voted-perceptron": {"averaging": "voted"},
    "averaged-perceptron": {"averaging": "averaged"},
    "longest-survivor": {"averaging": "longest"},
    "pocket": {"averaging": "pocket"},
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_perceptrons_with_other_defaults(name):
    expected = perceptron().get_params() | KW | PRESETS[name]
    assert margins.get(name)().get_params() == expected


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_the_explicitly_configured_perceptron(name):
    X, y = clouds(n_classes=3)
    preset = margins.get(name)(random_state=1).fit(X, y)
    explicit = perceptron(**KW, **PRESETS[name], random_state=1).fit(X, y)
    assert_same_fit(preset, explicit)
    assert_array_equal(preset.decision_function(X), explicit.decision_function(X))


@some(OF_ALL_SAMPLES)
@examples(8)
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    fit_intercept=st.booleans(),
    tau_positive=st.sampled_from([0.0, 0.5, 1.0]),
    tau_negative=st.sampled_from([0.0, 0.25, 2.0]),
    intercept_scaling=st.sampled_from([1.0, 3.0]),
)
def test_uneven_margins_replay_the_oracle(
    averaging, problem, seed, fit_intercept, tau_positive, tau_negative, intercept_scaling
):
    X, y = problem
    X = without_zero_rows(X)
    classifier = margins.get("paum")(
        tau_positive=tau_positive,
        tau_negative=tau_negative,
        intercept_scaling=intercept_scaling,
        fit_intercept=fit_intercept,
        max_iter=7,
        random_state=seed,
        **averaging,
    )
    assert "tau" not in classifier.get_params()
    classifier.fit(X, y)
    assert_replays(classifier, replay(classifier, X, y), queries_of(X, seed))


def test_uneven_margins_step_by_the_squared_radius():
    X, y = clouds(seed=5)
    params = {"tau_positive": 0.3, "tau_negative": 0.1, "max_iter": 20, "random_state": 0}
    by_data = margins.get("paum")(intercept_scaling=None, **params).fit(X, y)
    radius = math.sqrt(np.max(np.sum(X**2, axis=1)))
    given_ = margins.get("paum")(intercept_scaling=radius, **params).fit(X, y)
    assert by_data.n_updates_ == given_.n_updates_ > 0
    assert_allclose(by_data.coef_, given_.coef_, rtol=1e-9)
    assert_allclose(by_data.intercept_, given_.intercept_, rtol=1e-9, atol=1e-9)


@SETTINGS
@given(problem=sample_problems.problems(), seed=SEEDS)
def test_servedios_average_adds_every_sample_once(problem, seed):
    X, y = problem
    X = without_zero_rows(X)
    classifier = margins.get("servedio-average")(random_state=seed).fit(X, y)
    w, theta = oracle.servedio_average(X, y)
    assert_array_equal(classifier.coef_, [w])
    assert_array_equal(classifier.intercept_, [-theta])
    assert classifier.n_updates_ == len(X)
    assert classifier.n_iter_ == 1
    assert_array_equal(classifier.decision_function(X), X @ w)
