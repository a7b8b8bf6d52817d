"""Paths along C: every fit is true of its own problem, and begins from its neighbour."""

import dataclasses
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from certified_problems import assert_true, problems
from hypothesis import given
from hypothesis import strategies as st
from problems import assert_agree, tumours
from properties import examples
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.estimators.path import grid_of

CS = [0.01, 0.3, 5.0, 200.0]
SETTINGS = [
    {},
    {"loss": "hinge"},
    {"solver": "conjugate"},
    {"solver": "dcd", "loss": "hinge"},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf", "gamma": 0.5, "loss": "hinge", "penalize_intercept": False},
]
IDS = ["-".join(map(str, params.values())) or "default" for params in SETTINGS]
each_setting = pytest.mark.parametrize("params", SETTINGS, ids=IDS)


@each_setting
@pytest.mark.parametrize("load", [tumours, lambda: load_iris(return_X_y=True)], ids=["two", "three"])
def test_every_fit_of_a_path_solves_its_own_problem(load, params):
    X, y = load()
    Cs = CS[:3] if params.get("solver") == "dcd" else CS  # it takes thousands of epochs for large ones
    path = margins.svm_path(X, y, Cs, eps=1e-3, random_state=0, **params)
    assert path.converged.all()
    for C, fitted in zip(Cs, path.classifiers, strict=True):
        alone = margins.MarginClassifier(C=C, eps=1e-3, random_state=0, **params).fit(X, y)
        assert fitted.C == C and fitted.get_params() == alone.get_params()
        assert_agree(fitted, alone)
        assert all(each.gap <= 2.1e-3 for each in fitted.certificates_)
        assert np.mean(fitted.predict(X) == alone.predict(X)) > 0.98


@examples(20)
@given(
    problem=problems(C=(1.0,)),
    loss=st.sampled_from(["squared_hinge", "hinge"]),
    solver=st.sampled_from(["auto", "newton", "conjugate"]),
    seed=st.integers(0, 99),
)
def test_certificates_and_dual_variables_of_a_path_are_true(problem, loss, solver, seed):
    problem = dataclasses.replace(problem, loss=loss)
    Cs = 10.0 ** np.random.default_rng(seed).uniform(-2, 2, 4)
    params = problem.params
    del params["C"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = margins.svm_path(
            problem.X,
            problem.y,
            Cs,
            sample_weight=problem.weight,
            eps=1e-3,
            random_state=0,
            solver=solver,
            **(params | {"loss": loss}),
        )
    for C, classifier in zip(Cs, path.classifiers, strict=True):
        assert_true(dataclasses.replace(problem, C=float(C)), classifier)


def test_results_are_in_the_order_given_and_do_not_depend_on_it():
    X, y = tumours()
    ascending = margins.svm_path(X, y, CS, random_state=0)
    mixed = margins.svm_path(X, y, [5.0, 0.01, 200.0, 0.3], random_state=0)
    np.testing.assert_array_equal(mixed.Cs, [5.0, 0.01, 200.0, 0.3])
    np.testing.assert_array_equal(mixed.coefs[[1, 3, 0, 2]], ascending.coefs)
    assert mixed.coefs.shape == (4, 1, 30) and mixed.intercepts.shape == (4, 1)
    assert [len(each) for each in mixed.certificates] == [1] * 4
    assert mixed.decision_function(X[:7]).shape == (4, 7)
    np.testing.assert_array_equal(mixed.classes, [0, 1])
    assert len(mixed) == 4 and "4 values of C, 0.01 to 200; 4 proven" in repr(mixed)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_of_samples_and_classes_count_in_every_fit(kernel):
    X, y = tumours()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(y))
    params = {"eps": 1e-3, "class_weight": {0: 2.0}, "kernel": kernel, "random_state": 0}
    path = margins.svm_path(X, y, CS, sample_weight=weight, **params)
    for C, fitted in zip(CS, path.classifiers, strict=True):
        assert_agree(fitted, margins.MarginClassifier(C=C, **params).fit(X, y, weight))


def test_a_fit_that_is_not_proven_is_reported_with_its_C():
    X, y = tumours()
    with pytest.warns(ConvergenceWarning, match=r"values of C. .* C=200: .* max_iter=1 "):
        path = margins.svm_path(X, y, [200.0], eps=1e-9, loss="hinge", solver="dcd", max_iter=1)
    assert path.converged.tolist() == [False]


def test_values_of_C_are_checked_before_any_work():
    texts_and_truths = ("12", ["1"], [b"1"], [True], [1.0, True], np.array([True]), np.array(["1"]))
    numbers = (0, -1, True, 1.5, [], [[1.0]], [1.0, 0.0], [np.inf], [np.nan], [None], [1j])
    for Cs in ("abc", *numbers, *texts_and_truths):
        sentence = "Cs of svm_path must be an integer >= 1, or finite numbers.* Got "
        with pytest.raises(ValueError, match=sentence + re.escape(repr(Cs))):
            margins.svm_path(None, None, Cs)
        with pytest.raises(ValueError, match=sentence.replace("svm_path", "MarginClassifierCV.fit")):
            margins.MarginClassifierCV(Cs=Cs).fit(None, None)


def test_numbers_of_all_kinds_are_values_of_C():
    for Cs in ([1], (1.0, 2), np.array([1, 2]), np.float32([0.5]), [Fraction(1, 2), Decimal("0.5")]):
        np.testing.assert_array_equal(grid_of(Cs, "a test"), np.array(Cs, dtype=float))
    np.testing.assert_allclose(grid_of(10, "a test"), np.logspace(-4, 4, 10))  # as of scikit-learn


@pytest.mark.parametrize("name", ["C", "warm_start", "max_time"])
def test_parameters_that_a_path_has_no_use_for_are_errors(name):
    with pytest.raises(TypeError, match=f"svm_path does not take '{name}'"):
        margins.svm_path(*tumours(), 3, **{name: 1})


def test_several_l1_ratios_have_a_path_each():
    X, y = tumours()
    params = {"penalty": "elasticnet", "eps": 1e-3}
    path = margins.svm_path(X, y, [1, 0.1], l1_ratio=np.array([0.5, 0]), **params)
    assert path.Cs.tolist() == [1, 0.1, 1, 0.1] and path.l1_ratios.tolist() == [0.5, 0.5, 0, 0]
    assert str(path) == "SVMPath(4 values of C, 0.1 to 1, with 2 of l1_ratio; 4 proven)"
    for C, l1_ratio, fitted in zip(path.Cs, path.l1_ratios, path.classifiers, strict=True):
        alone = margins.MarginClassifier(C=C, l1_ratio=l1_ratio, **params).fit(X, y)
        assert fitted.get_params() == alone.get_params()
        assert_agree(fitted, alone)
    with pytest.raises(
        ValueError, match=r"path of CoefficientPathDisplay must have one l1_ratio. Got SVM"
    ):
        margins.plotting.CoefficientPathDisplay.from_path(path)
    with pytest.raises(ValueError, match=r"l1_ratio of svm_path must be .* Got \[2\]."):
        margins.svm_path(X, y, l1_ratio=[2], **params)


@pytest.mark.parametrize("feature", [0, 3])
def test_steps_go_on_if_only_the_improvement_of_a_start_is_too_small(feature):
    X, y = load_iris(return_X_y=True)
    path = margins.svm_path(X[:, [feature]], y == 1, random_state=0)
    assert {classifier.solver_ for classifier in path.classifiers} == {"newton"}


def test_a_path_continues_where_passes_over_samples_have_ended():
    X, y = tumours()
    params = {"penalty": margins.regularisers.Bounded(lower=0.0), "loss": "hinge", "eps": 1e-3}
    path = margins.svm_path(X, y, [1e-4, 1e-3, 1], **params)
    assert path.classifiers[0].solver_ == "dcd" and path.converged.all()
    for C, fitted in zip(path.Cs, path.classifiers, strict=True):
        assert_agree(fitted, margins.MarginClassifier(C=C, **params).fit(X, y))
