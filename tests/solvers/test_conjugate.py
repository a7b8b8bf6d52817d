"""Fits by conjugate passes: when steps are made, when proofs are computed, and rounding."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from partitioned_problems import sparse_problem
from problems import noisy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import margins
import margins.solvers.conjugate
from margins.solvers.conjugate import ConjugateSolver
from margins.solvers.rounding import Rounding

Auto = margins.MarginClassifier


class Watch:
    """Keeps the runs it sees; stops them after so many epochs."""

    def __init__(self, seen=None, until=None):
        self.seen, self.until = [] if seen is None else seen, until

    def begin_epoch(self, number):
        pass

    def end_epoch(self, run):
        self.seen.append(run)
        return run.n_epochs == self.until

    def end(self):
        pass


def test_certificates_are_computed_only_if_the_estimate_is_small():
    fit = Auto(eps=1e-4, random_state=0).fit(*sparse_problem(m=300, d=600))
    certificates = [epoch.certificate for epoch in fit.learning_curve_[0]]
    assert fit.converged_
    assert certificates[0] is not None
    assert certificates[-1] == fit.certificates_[0]
    assert 0 < certificates.count(None) < len(certificates) - 1


@pytest.mark.parametrize("eps", [1e-9, 0.9])
def test_a_run_that_is_stopped_between_certificates_gets_one(eps, monkeypatch):
    # The gap after the first epoch is taken to be above the threshold, whatever has been proven.
    monkeypatch.setattr(ConjugateSolver, "_may_be_proven", lambda solver, run: False)
    X, y = noisy(200, 6)
    task = SimpleNamespace(watch=lambda index: Watch(until=2), end=lambda: None)
    monkeypatch.setattr("margins.estimators.base.has_callbacks", lambda estimator: True)
    monkeypatch.setattr("margins.estimators.base.FitTask", lambda *arguments: task)
    classifier = Auto(C=0.1, eps=eps, solver="conjugate", random_state=0)
    with nullcontext() if eps > 0.5 else pytest.warns(ConvergenceWarning, match="a callback stopped it"):
        classifier.fit(X, y)
    first, last = classifier.learning_curve_[0]
    assert first.certificate is None
    assert last.certificate == classifier.certificates_[0]
    assert classifier.converged_ == (last.certificate.fraction >= 1 - eps) == (eps > 0.5)


class Stop(Exception):
    """What a kernel raises."""


def test_an_error_of_a_kernel_is_never_lost():
    # Few rows fit into the cache, so that steps compute rows, and may be the last to do so.
    generator = np.random.default_rng(2)
    X = generator.normal(size=(20, 4))
    y = X[:, 0] + generator.normal(size=20) > 0
    calls = 0

    def fit(last):
        def kernel(A, B):
            nonlocal calls
            calls += 1
            if calls == last:
                raise Stop
            return (A @ B.T + 1) ** 2

        params = {"solver": "conjugate", "loss": "hinge", "eps": 0.1, "random_state": 0}
        Auto(kernel=kernel, cache_size=1e-4, **params).fit(X, y)

    fit(last=None)
    n_calls = calls
    assert n_calls > 50
    for last in range(1, n_calls + 1):
        calls = 0
        with pytest.raises(Stop):
            fit(last)


@pytest.mark.parametrize(
    ("seed", "scale"), [(2, 1e-4), (3, 1), (8, 1e4), (12, 1), (24, 1e-4), (173, 1e4)]
)
def test_certificates_do_not_depend_on_rounding_in_sums_of_kernel_rows(seed, scale):
    # The kernel matrix is singular: the objective hardly curves along some moves, which only bounds end.
    generator = np.random.default_rng(seed)
    m, d = generator.integers(4, 12), generator.integers(1, 4)
    X = generator.normal(size=(m, d))
    y = np.where(generator.random(m) < 0.5, 1, -1)
    y[:2] = 1, -1
    matrix, C = scale * X @ X.T, 3 / scale
    fit = Auto(kernel="precomputed", C=C, eps=1e-4, loss="hinge", fit_intercept=False, random_state=1)
    fit.fit(matrix, y)
    coef = np.zeros(m)
    coef[fit.support_] = fit.dual_coef_[0]
    slack = np.maximum(1 - y * (matrix @ coef), 0)
    primal = coef @ matrix @ coef / 2 + C * slack.sum()
    assert_allclose(fit.certificates_[0].primal, primal, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "classifier",
    [Auto(solver="conjugate", eps=1.0), margins.get("mpu")(eps=1.0), margins.get("mpu")(before_run=1.0)],
)
def test_fits_start_from_a_threshold_of_zero(classifier, kernel):
    X = np.array([[3.0, 1, 0], [2, 2, 1], [3, 0, 1]])
    fit = clone(classifier).set_params(kernel=kernel, random_state=0).fit(X, [0, 1, 1])
    assert fit.converged_


def test_dual_variables_that_have_shrunk_leave_no_rounding_errors():
    # They begin at a bound of 5e7, and end where the margin is hard.
    for seed in range(40):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(3, 17)) * 10.0 ** generator.integers(-2, 3, size=17)
        fit = Auto(loss="hinge", C=5e7, eps=1e-6, solver="conjugate", random_state=0).fit(X, [0, 1, 0])
        assert fit.converged_ and fit.n_iter_ < 20, seed


@pytest.mark.parametrize(("eps", "sums"), [(1e-3, False), (1e-13, True)])
def test_weights_are_recomputed_when_rounding_could_affect_a_proof(eps, sums, monkeypatch):
    monkeypatch.setattr("margins.solvers.auto.gram_pays", lambda X: False)
    plain, rounding_of_runs = Rounding.correct, []

    def look(rounding, run):
        plain(rounding, run)
        rounding_of_runs.append(rounding)

    monkeypatch.setattr(Rounding, "correct", look)
    X = np.random.default_rng(0).normal(size=(50, 70))
    with pytest.warns(ConvergenceWarning) if sums else nullcontext():
        Auto(solver="conjugate", eps=eps, max_iter=5, random_state=0).fit(X, np.arange(50) % 2)
    assert rounding_of_runs
    assert (rounding_of_runs[-1].n_accesses_summed > 0) == sums


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_contradicting_rows_leave_weights_of_zero(loss):
    for seed in range(12):
        generator = np.random.default_rng(seed)
        X = np.repeat(generator.integers(-1, 2, size=(seed % 4 + 1, seed % 3 + 1)), 2, axis=0)
        y = np.tile([-1, 1], len(X) // 2)
        classifier = Auto(solver="conjugate", loss=loss, C=10, eps=1e-3, random_state=0).fit(X, y)
        assert classifier.converged_, seed
        assert_allclose(classifier.coef_, 0, atol=1e-6, err_msg=f"seed {seed}")
