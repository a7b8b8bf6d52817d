"""Warm starts from dual variables: sooner where little has changed, and true whatever has."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from algorithm_groups import quiet
from certified_problems import Problem, assert_true, problems
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from problems import assert_agree, tumours
from properties import examples
from sklearn.base import clone
from sklearn.datasets import load_iris

import margins
from margins.persistence import dump, load

SETTINGS = [
    *(("auto", {"solver": solver}) for solver in ("auto", "newton", "unlearning", "dcd")),
    ("auto", {"loss": "hinge", "solver": "conjugate"}),
    ("auto", {"loss": "hinge", "kernel": "rbf", "gamma": 0.5}),
    ("auto", {"kernel": "poly", "degree": 2, "coef0": 1.0, "solver": "decomposition"}),
    ("auto", {"kernel": "poly", "degree": 2, "coef0": 1.0, "solver": "interior-point"}),
    ("mpu", {}),
    ("dcd", {"loss": "hinge"}),
    ("adatron", {"loss": "hinge"}),
]
IDS = [f"{name}-{'-'.join(map(str, params.values()))}" for name, params in SETTINGS]
each_setting = pytest.mark.parametrize(("name", "params"), SETTINGS, ids=IDS)


def make(name, **params):
    return margins.get(name)(**{"warm_start": True, "random_state": 0, "eps": 1e-3} | params)


def some_tumours():
    X, y = tumours()
    return X[::3], y[::3]


@each_setting
def test_a_fit_of_the_same_problem_has_little_left_to_do(name, params):
    X, y = some_tumours()
    classifier = make(name, **params).fit(X, y)
    before, cold = classifier.certificates_[0], classifier.n_accesses_
    classifier.fit(X, y)
    assert classifier.converged_
    assert classifier.n_accesses_ <= 0.7 * cold
    assert classifier.certificates_[0].dual >= before.dual * (1 - 1e-9)


@quiet
@each_setting
def test_fits_after_changes_of_parameters_agree_with_cold_ones(name, params):
    X, y = some_tumours()
    classifier = make(name, **params).fit(X, y)
    for changed in ({"C": 2.0}, {"C": 0.1}, {"eps": 0.1}, {"eps": 1e-4}, {"loss": "hinge"}):
        classifier.set_params(**changed).fit(X, y)
        assert classifier.converged_
        assert_agree(classifier, clone(classifier).set_params(warm_start=False).fit(X, y))


@quiet
@each_setting
def test_fits_after_changes_of_the_data_agree_with_cold_ones(name, params):
    X, y = some_tumours()
    rng = np.random.default_rng(0)
    classifier = make(name, eps=0.05, **params).fit(X, y)
    weight = 10.0 ** rng.uniform(-2, 2, len(y))
    weight[::7] = 0
    for data in ((X, 1 - y), (X, y, weight), (X[::-1], y), (X + rng.normal(size=X.shape), y, weight)):
        classifier.fit(*data)
        assert_agree(classifier, clone(classifier).set_params(warm_start=False).fit(*data))


@quiet
@examples(20)
@given(problems(C=(1.0, 100.0)), problems(C=(0.1, 10.0)), st.sampled_from(["auto", "mpu", "dcd"]))
def test_certificates_of_warm_fits_are_true(first, second, name):
    params = {"max_iter": 3, "random_state": 0, "warm_start": True}
    m, d = min(len(first.y), len(second.y)), min(first.X.shape[1], second.X.shape[1])
    first, second = (
        Problem(p.X[:m, :d], np.where(np.arange(m) == 0, 1, p.y[:m]), None, 1.0, p.C)
        for p in (first, second)
    )
    if len(set(first.y)) < 2 or len(set(second.y)) < 2:
        return
    classifier = margins.get(name)(C=first.C, intercept_scaling=1.0, **params).fit(first.X, first.y)
    classifier.set_params(C=second.C).fit(second.X, second.y)
    assert_true(second, classifier)


@pytest.mark.parametrize(("name", "params"), [("auto", {}), ("mpu", {}), ("auto", {"kernel": "rbf"})])
def test_without_warm_start_nothing_is_kept(name, params):
    X, y = some_tumours()
    classifier = make(name, warm_start=False, **params).fit(X, y)
    before = classifier.decision_function(X), classifier.n_accesses_
    classifier.set_params(C=3.0).fit(X, y)
    classifier.set_params(C=1.0).fit(X, y)
    assert_array_equal(classifier.decision_function(X), before[0])
    assert classifier.n_accesses_ == before[1]


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}])
def test_every_class_starts_from_its_own_dual_variables(params):
    X, y = load_iris(return_X_y=True)
    for n_jobs in (1, 2):
        classifier = make("auto", n_jobs=n_jobs, **params).fit(X, y)
        cold = classifier.n_accesses_
        classifier.fit(X, y)
        assert classifier.n_accesses_ < cold
        assert_agree(classifier, clone(classifier).fit(X, y))


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_samples_of_a_precomputed_kernel_may_have_weight_0(loss):
    X, y = some_tumours()
    K, weight = X @ X.T, (np.arange(len(y)) % 4).astype(float)
    classifier = make("auto", kernel="precomputed", loss=loss).fit(K, y, sample_weight=weight)
    first = classifier.certificates_[0]
    assert classifier.fit(K, y, sample_weight=weight).converged_
    assert classifier.certificates_[0].dual >= first.dual * (1 - 1e-9)
    assert classifier.fit(K, y).converged_  # the others begin from 0


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}])
def test_a_stored_model_has_warm_starts(params, tmp_path):
    X, y = some_tumours()
    classifier = make("auto", **params).fit(X, y)
    dump(classifier, tmp_path / "model")
    copies = [pickle.loads(pickle.dumps(classifier)), load(tmp_path / "model")]
    classifier.set_params(C=2.0).fit(X, y)
    for stored in copies:
        stored.set_params(C=2.0).fit(X, y)
        assert_array_equal(stored.decision_function(X), classifier.decision_function(X))


@pytest.mark.parametrize("name", ["auto", "mpu", "pdm", "cv"])
def test_stored_linear_models_have_no_dual_variables_and_say_so(name, tmp_path):
    X, y = some_tumours()
    classifier = margins.MarginClassifierCV(Cs=2) if name == "cv" else margins.get(name)(C=2.0)
    classifier.fit(np.tile(X, (20, 1)), np.tile(y, 20))
    dump(classifier, tmp_path / "model")
    written = pickle.dumps(classifier)
    assert len(written) < classifier.dual_coef_.nbytes / 2
    for stored in (pickle.loads(written), load(tmp_path / "model")):
        for attribute in ("dual_coef_", "support_"):
            with pytest.raises(AttributeError, match=f"{attribute} of .* was left out .* fit again"):
                getattr(stored, attribute)
        assert_array_equal(stored.decision_function(X), classifier.decision_function(X))
        assert stored.certificates_ == classifier.certificates_
        if "warm_start" in stored.get_params() and name != "pdm":
            stored.set_params(warm_start=True)
            with pytest.raises(ValueError, match=r"warm_start of .* must be False: .* left out"):
                stored.fit(X, y)
            stored.set_params(warm_start=False)
        assert stored.fit(X, y).dual_coef_.shape == (1, len(y))
        assert len(stored.support_) <= len(y)
    for twin in (copy.copy(classifier), copy.deepcopy(classifier)):
        assert_array_equal(twin.dual_coef_, classifier.dual_coef_)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}])
def test_other_sizes_and_classes_are_errors_that_leave_the_model(params):
    X, y = some_tumours()
    classifier = make("auto", **params).fit(X, y)
    before = classifier.decision_function(X)
    for data in (
        (X[:-1], y[:-1]),
        (X[:, :-1], y),
        (X, np.where(y == 0, 2, y)),
        (X, np.arange(len(y)) % 3),
    ):
        with pytest.raises(
            ValueError, match=r"warm_start=True: 190 samples, 30 features.* Got \d+ samples"
        ):
            classifier.fit(*data)
        assert_array_equal(classifier.decision_function(X), before)


def test_explain_shows_the_plan_of_a_warm_fit():
    X, y = some_tumours()
    classifier = make("auto", loss="hinge")
    assert (
        classifier.explain(X, y).solver == classifier.set_params(warm_start=False).explain(X, y).solver
    )
    classifier.set_params(warm_start=True).fit(X, y)
    assert classifier.explain(X, y).solver == "newton + conjugate"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert classifier.fit(X, y).solver_ == "newton"
