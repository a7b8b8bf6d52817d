"""Fits with ``warm_start=True`` continue from the last fit or chunk."""

import pickle

import numpy as np
import pytest
from algorithm_groups import quiet
from numpy.testing import assert_array_equal
from stream_problems import DECAYING, STREAMS, assert_same_model, clouds, each_kind, each_stream, make

import margins


@quiet
@pytest.mark.parametrize(("C", "n_classes"), [(np.inf, 2), (2.0, 3)])
@pytest.mark.parametrize("averaging", ["last", "longest", "averaged", "pocket", "voted"])
def test_warm_fits_in_order_are_one_fit_of_all_epochs(averaging, C, n_classes):
    X, y = clouds(n_classes, distance=0.3)
    params = {"averaging": averaging, "shuffle": "never", "C": C}
    whole = margins.get("perceptron")(**params, max_iter=6).fit(X, y)
    warm = margins.get("perceptron")(**params, max_iter=2, warm_start=True)
    for _ in range(3):
        warm.fit(X, y)
        warm = pickle.loads(pickle.dumps(warm))
    assert whole.n_iter_ == 6
    if averaging == "voted":
        for left, right in zip(warm.votes_, whole.votes_, strict=True):
            assert_array_equal(left, right)
        assert_array_equal(warm.decision_function(X), whole.decision_function(X))
    else:
        assert_same_model(warm, whole)
    assert warm.n_updates_ == whole.n_updates_
    assert warm.certificates_ == whole.certificates_
    assert warm.n_iter_ == 2
    if np.isfinite(C) and averaging != "voted":
        assert_array_equal(warm.dual_coef_, whole.dual_coef_)


@quiet
@pytest.mark.parametrize(  # every epoch changes the weight vector of the others
    "name", [name for name in STREAMS if name not in (*DECAYING, "servedio-average")]
)
def test_a_warm_fit_of_a_converged_fit_changes_nothing(name):
    X, y = clouds(distance=8, m=40)
    params = {"max_iter": 5000}
    if name == "alma":
        params["stop"] = "clean-pass"
    warm = make(name, warm_start=True, **params).fit(X, y)
    assert warm.converged_
    updates, predictions = warm.n_updates_, warm.predict(X)
    again = warm.fit(X, y)
    assert again.converged_ and again.n_iter_ <= 2
    assert again.n_updates_ <= updates + 3
    assert_array_equal(again.predict(X), predictions)


@quiet
@each_stream
def test_certificates_of_a_warm_fit_are_true(name):
    X, y = clouds(distance=5, m=40)
    params = {} if name == "servedio-average" else {"max_iter": 300}
    warm = make(name, warm_start=True, **params).fit(X, y)
    Z, z = clouds(distance=9, m=40)
    try:
        warm.fit(Z, z)
    except ValueError as error:
        method = f"{name} ({type(warm).__name__}.fit)"
        sentence = f"X and y of {method} must be the same as in the last fit if warm_start"
        assert sentence in str(error)
        Z, z = X, y
        warm.fit(Z, z)
    (certificate,) = warm.certificates_
    rho = np.sqrt(warm.sq_intercept_scaling_) if hasattr(warm, "sq_intercept_scaling_") else 1.0
    params = {"fit_intercept": warm.fit_intercept, "intercept_scaling": rho, "C": warm.C}
    if name == "pegasos":
        params |= {"C": 1 / (40 * warm.lam), "loss": "hinge"}
    exact = margins.MarginClassifier(**params, eps=1e-6).fit(Z, z).certificates_[0]
    assert certificate.dual <= exact.primal * (1 + 1e-9)
    assert certificate.primal >= exact.dual * (1 - 1e-9)


@quiet
def test_without_dual_variables_a_warm_fit_continues_with_other_samples():
    X, y = clouds(distance=5)
    for name in ("pa", "norma", "perceptron", "romma", "averaged-perceptron"):
        warm = make(name, warm_start=True, max_iter=3).fit(X[:45], y[:45])
        before = warm.n_updates_
        warm.fit(X[45:], y[45:])
        assert warm.n_updates_ >= before
        (certificate,) = warm.certificates_
        assert (certificate.dual, certificate.upper_bound) == (0.0, np.inf)


def test_parameters_and_samples_that_no_warm_start_supports_are_rejected():
    X, y = clouds()
    sentence = r"warm_start of pa \(PassiveAggressiveClassifier.fit\) must be False"
    with pytest.raises(ValueError, match=sentence):
        make("pa", warm_start=True, kernel="rbf").fit(X, y)
    warm = make("pa", warm_start=True).fit(X, y)
    for Z, z in ((X[:, :3], y), (X, y + 1), (X, np.arange(90) % 3)):
        with pytest.raises(ValueError, match=r"warm_start=True"):
            warm.fit(Z, z)
    with pytest.raises(ValueError, match="must be True or False"):
        make("pa", warm_start=1).fit(X, y)
    tail = make("perceptron", averaging="tail", warm_start=True)
    with pytest.raises(
        ValueError,
        match=r"averaging of perceptron \(Perceptron.fit\) must not be 'tail' with warm_start",
    ):
        tail.fit(X, y)


@each_kind
def test_a_warm_fit_that_needs_dual_variables_is_rejected_after_one_that_kept_none(name):
    X, y = clouds(distance=5, m=40)
    warm = make(name, warm_start=True, C=np.inf).fit(X, y)
    predictions = warm.predict(X)
    if warm.specification(np.ones(1)).keep_dual:
        assert np.isfinite(warm.set_params(C=1.0).fit(X, y).dual_coef_).all()
        return
    with pytest.raises(ValueError, match="must have kept dual variables if warm_start=True"):
        warm.set_params(C=1.0).fit(X, y)
    assert_array_equal(warm.predict(X), predictions)
    warm.set_params(C=np.inf).fit(X, y)
