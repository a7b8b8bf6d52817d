"""Khardon & Wachman's noise-tolerant perceptrons: copies, refits and chunks of a stream."""

import pickle

import numpy as np
import pytest
import sample_problems
from hypothesis import given
from hypothesis import strategies as st
from noise_tolerant_replay import (
    AVERAGINGS,
    KW,
    OF_ALL_SAMPLES,
    SEEDS,
    SETTINGS,
    WHOLE,
    assert_replays,
    assert_same_fit,
    clouds,
    perceptron,
    plain,
    queries_of,
    replay,
    some,
    state,
)
from numpy.testing import assert_array_equal
from sklearn.base import clone

# Whether a run ends with an epoch without updates is not tested here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# These need no sample after its access.
ONLINE = {key: value for key, value in OF_ALL_SAMPLES.items() if key != "pocket"}


# ------------------------------------------------------------------------------------------------ copies


@pytest.mark.parametrize(("kernel", "n_classes"), [("linear", 3), ("rbf", 2)])
@some(AVERAGINGS)
def test_pickled_classifier_is_the_same_classifier(averaging, n_classes, kernel):
    X, y = clouds(n_classes=n_classes)
    classifier = perceptron(**KW, **averaging, kernel=kernel, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.get_params() == classifier.get_params()
    assert_same_fit(copy, classifier)
    assert_array_equal(copy.decision_function(X), classifier.decision_function(X))


@some(AVERAGINGS)
def test_clone_is_untrained_and_trains_to_the_same_classifier(averaging):
    X, y = clouds()
    classifier = perceptron(**KW, **averaging, random_state=5).fit(X, y)
    copy = clone(classifier)
    assert not state(copy)
    assert_same_fit(copy.fit(X, y), classifier)


@some(AVERAGINGS)
def test_second_fit_forgets_the_first(averaging):
    X, y = clouds(n_classes=3)
    Z, z = clouds(n_features=3, seed=1)
    for later in AVERAGINGS.values():
        later = {"weighting": "votes"} | later
        again = perceptron(**KW, **averaging, random_state=0).fit(X, y).set_params(**later)
        assert_same_fit(again.fit(Z, z), perceptron(**KW, **later, random_state=0).fit(Z, z))


# ------------------------------------------------------------------------------------------- partial_fit


def in_chunks(classifier, X, y, n_chunks):
    classes = np.unique(y)
    for rows in np.array_split(np.arange(len(y)), n_chunks):
        assert classifier.partial_fit(X[rows], y[rows], classes=classes) is classifier
    return classifier


def assert_same_online(one, other, queries):
    """All that does not speak of which call brought a sample."""
    for name in ("coef_", "intercept_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.n_updates_ == other.n_updates_
    if one.averaging == "voted":
        for left, right in zip(one.votes_, other.votes_, strict=True):
            assert_array_equal(left, right)
        for left, right in zip(one.mistakes_, other.mistakes_, strict=True):
            assert_array_equal(plain(one.support_vectors_)[left], plain(other.support_vectors_)[right])
    assert_array_equal(one.decision_function(queries), other.decision_function(queries))
    assert_array_equal(one.predict(queries), other.predict(queries))


@some(ONLINE)
@SETTINGS
@given(
    problem=sample_problems.problems(),
    seed=SEEDS,
    tau=st.sampled_from([0.0, 0.5]),
    n_chunks=st.integers(2, 4),
)
def test_chunks_are_one_pass_in_their_order(averaging, problem, seed, tau, n_chunks):
    X, y = problem
    params = {**WHOLE, **averaging, "tau": tau}
    whole = perceptron(**params, shuffle="never", max_iter=1).fit(X, y)
    queries = queries_of(X, seed)
    assert_replays(whole, replay(whole, X, y), queries)
    assert_same_online(perceptron(**params).partial_fit(X, y, classes=[-1, 1]), whole, queries)
    chunks = [part for part in range(n_chunks) if part < len(X)]
    assert_same_online(in_chunks(perceptron(**params), X, y, len(chunks)), whole, queries)


@pytest.mark.parametrize(("layout", "n_classes"), [("dense", 3), ("dense float32", 2), ("CSR", 2)])
@some(ONLINE)
def test_chunks_of_real_values_are_one_pass_bit_for_bit(averaging, n_classes, layout):
    X, y = clouds(n_classes=n_classes, n_samples=60, n_features=11, distance=0.3)
    X = sample_problems.LAYOUTS[layout](X)
    params = {**averaging, "eta": 0.1, "theta_init": 3.3, "intercept_scaling": 1.7, "tau": 0.2}
    whole = perceptron(**params, shuffle="never", max_iter=1).fit(X, y)
    assert whole.n_updates_ > 10
    assert_same_online(perceptron(**params).partial_fit(X, y, classes=np.unique(y)), whole, X)
    for n_chunks in (2, 7, len(y)):
        assert_same_online(in_chunks(perceptron(**params), X, y, n_chunks), whole, X)


def test_partial_fit_rejects_what_does_not_continue_the_stream():
    X, y = clouds(n_classes=3)
    classifier = perceptron().partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    with pytest.raises(ValueError):
        classifier.partial_fit(X, y + 1)
    with pytest.raises(ValueError):
        classifier.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError):
        classifier.partial_fit(X, y, classes=[0, 1])
