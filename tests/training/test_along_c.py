"""Training along C: fewer accesses than separate fits, equal results in threads, no run kept."""

import gc
import weakref

import numpy as np
import pytest
from problems import tumours
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

import margins
from margins.solvers.driver import Run
from margins.training.along_c import paths_of

CS = [0.01, 0.3, 5.0, 200.0]
SETTINGS = [{}, {"solver": "conjugate"}, {"kernel": "rbf", "loss": "hinge", "penalize_intercept": False}]


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
    along, alone = n_accesses_along(X, y, Cs, eps=1e-3, **params)
    assert along < 0.95 * alone


def test_a_path_releases_its_runs(monkeypatch):
    X, y = tumours()
    X, y = X[::4], y[::4]
    outcomes, made, begin = [], [], Run.__init__

    def noted(run, *args, **kwargs):
        begin(run, *args, **kwargs)
        made.append(weakref.ref(run))

    monkeypatch.setattr(Run, "__init__", noted)
    for params in SETTINGS:
        estimator = margins.MarginClassifier(random_state=0, **params)
        training_set = estimator.training_set(X, y)
        paths = paths_of(training_set, estimator.specification(training_set.sqnorms), estimator, CS)
        paths.train(0, 0, CS, lambda _, outcome: outcomes.append(outcome))
    gc.collect()
    assert len(outcomes) == len(CS) * len(SETTINGS)
    assert len(made) >= len(outcomes) and not any(run() for run in made)
    assert all(outcome.converged for outcome in outcomes)
