"""Paths along C: every fit is true of its own problem, and begins from its neighbour."""

import dataclasses
import gc
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from certified_problems import assert_true, problems
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.estimators.path import grid_of
from margins.solvers.driver import Run
from margins.training.along_c import paths_of

CS = [0.01, 0.3, 5.0, 200.0]
SETTINGS = [
    {},
    {"loss": "hinge"},
    {"solver": "conjugate"},
    {"solver": "dcd", "loss": "hinge"},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf", "gamma": 0.5, "loss": "hinge"},
    {"kernel": "rbf", "gamma": 0.5, "loss": "hinge", "penalize_intercept": False},
]
IDS = ["-".join(map(str, params.values())) or "default" for params in SETTINGS]
each_setting = pytest.mark.parametrize("params", SETTINGS, ids=IDS)


def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def assert_agree(one, other):
    """Two fits of one problem: no dual value of either exceeds a primal value of the other."""
    for left, right in ((one, other), (other, one)):
        for mine, theirs in zip(left.certificates_, right.certificates_, strict=True):
            assert mine.dual <= theirs.primal * (1 + 1e-9)


@each_setting
@pytest.mark.parametrize("load", [tumours, lambda: load_iris(return_X_y=True)], ids=["two", "three"])
def test_every_fit_of_a_path_is_one_of_its_own_problem(load, params):
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


def n_accesses_along(X, y, Cs, **params):
    """Accesses of a path, and of separate fits: (int, int)."""
    params = {"random_state": 0, "max_iter": 3000, **params}
    path = margins.svm_path(X, y, Cs, **params)
    alone = [margins.MarginClassifier(C=C, **params).fit(X, y) for C in Cs]
    assert path.converged.all() and all(fitted.converged_ for fitted in alone)
    return tuple(sum(fitted.n_accesses_ for fitted in fits) for fits in (path.classifiers, alone))


def scaled(X, y):
    return X / np.abs(X).max(axis=0).clip(1e-9), y


DATA = {
    "breast cancer": lambda: scaled(*load_breast_cancer(return_X_y=True)),
    "wine": lambda: scaled(*load_wine(return_X_y=True)),
    "digits": lambda: scaled(*load_digits(return_X_y=True)),
    "odd digits": lambda: (load_digits().data / 16, load_digits().target % 2),
    "noisy": lambda: scaled(*make_classification(5000, 20, flip_y=0.1, random_state=0)),
    "many features": lambda: scaled(*make_classification(300, 500, flip_y=0.1, random_state=1)),
}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", DATA)
def test_a_path_accesses_no_more_samples_than_separate_fits(name, loss):
    X, y = DATA[name]()
    along, alone = n_accesses_along(X, y, np.logspace(-3, 3, 6), loss=loss, eps=1e-3)
    assert along <= 1.05 * alone


@examples(15)
@given(
    seed=st.integers(0, 2**16),
    n_samples=st.integers(150, 400),
    n_features=st.integers(2, 12),
    noise=st.sampled_from([0.0, 0.05, 0.2]),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    ends=st.sampled_from([(-2, 2, 5), (-3, 3, 10)]),
)
def test_on_generated_data_a_path_accesses_no_more_samples_either(
    seed, n_samples, n_features, noise, loss, ends
):
    n_informative = max(2, n_features // 2)
    X, y = make_classification(
        n_samples,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_clusters_per_class=1,
        flip_y=noise,
        random_state=seed,
    )
    along, alone = n_accesses_along(*scaled(X, y), np.logspace(*ends), loss=loss)
    assert along <= 1.05 * alone


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


def test_results_do_not_depend_on_threads():
    X, y = load_iris(return_X_y=True)
    one, two = (margins.svm_path(X, y, CS, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coefs, two.coefs)
    np.testing.assert_array_equal(one.intercepts, two.intercepts)


@pytest.mark.parametrize(
    ("params", "n_copies"),
    [({}, 20), ({"kernel": "rbf"}, 1), ({"kernel": "rbf", "loss": "hinge"}, 1)],
    ids=["linear", "rbf", "rbf-hinge"],
)
def test_a_path_accesses_fewer_samples_than_fits_alone(params, n_copies):
    X, y = tumours()
    X, y, Cs = np.tile(X, (n_copies, 1)), np.tile(y, n_copies), np.logspace(-3, 3, 9)
    path = margins.svm_path(X, y, Cs, eps=1e-3, random_state=0, **params)
    alone = [margins.MarginClassifier(C=C, eps=1e-3, random_state=0, **params).fit(X, y) for C in Cs]
    n_accesses = [sum(each.n_accesses_ for each in fits) for fits in (path.classifiers, alone)]
    assert n_accesses[0] < 0.95 * n_accesses[1]


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


def test_an_integer_stands_for_the_grid_of_scikit_learn():
    np.testing.assert_allclose(grid_of(10, "a test"), np.logspace(-4, 4, 10))


@pytest.mark.parametrize("name", ["C", "warm_start", "max_time"])
def test_parameters_that_a_path_has_no_use_for_are_errors(name):
    with pytest.raises(TypeError, match=f"svm_path does not take '{name}'"):
        margins.svm_path(*tumours(), 3, **{name: 1})


def test_a_path_releases_its_runs():
    X, y = tumours()
    X, y = X[::4], y[::4]
    outcomes = []
    for params in SETTINGS:
        estimator = margins.MarginClassifier(random_state=0, **params)
        training_set = estimator.training_set(X, y)
        paths = paths_of(training_set, estimator.specification(training_set.sqnorms), estimator, CS)
        paths.train(0, 0, CS, lambda _, outcome: outcomes.append(outcome))
    gc.collect()
    assert len(outcomes) == len(CS) * len(SETTINGS)
    assert not any(isinstance(thing, Run) for thing in gc.get_objects())
    assert all(outcome.converged for outcome in outcomes)
