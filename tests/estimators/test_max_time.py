"""A time limit ends any fit, within an epoch if need be, with a true certificate."""

import time

import numpy as np
import pytest
from algorithm_groups import ALGORITHMS, REPRESENTATIVES, quiet
from certified_problems import Problem, assert_true
from numpy.testing import assert_array_equal
from problems import noisy
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.kernels.row_blocks import FormulaBlocks
from margins.linalg.threads import TimeBudget, TimeLimitReached, check_time, time_is_over, time_limit

SHORTEST = 1e-9  # seconds: over before the first check
LIMIT = 0.1
# Beyond the limit: a chunk of samples, a certificate, and what else the machine does.
ALLOWED = 1.0


# One of every class and of every loop over the samples.
each_loop = pytest.mark.parametrize("name", [*REPRESENTATIVES, "mpu", "dcd", "pdm"])


def params_of(name):
    return {"gamma": 1e-6} if name == "pfm" else {}


@quiet
@each_loop
def test_the_shortest_limit_leaves_a_model_with_a_true_certificate(name):
    X, y = noisy(12)
    problem = Problem(X, y, rho=1.0, C=1.0, loss=ALGORITHMS[name]().loss)
    classifier = ALGORITHMS[name](
        C=1.0, intercept_scaling=1.0, fit_intercept=True, max_time=SHORTEST, random_state=0
    )
    classifier.set_params(**params_of(name)).fit(X, y)
    assert classifier.n_iter_ == 1
    assert_true(problem, classifier)


@quiet
@each_loop
def test_a_limit_ends_a_fit_within_an_epoch(name):
    X, y = noisy(3000)
    classifier = ALGORITHMS[name](max_time=SHORTEST, random_state=0, **params_of(name)).fit(X, y)
    others = ALGORITHMS[name](max_iter=1, random_state=0, **params_of(name)).fit(X, y)
    assert classifier.n_iter_ == len(classifier.learning_curve_[0]) == 1
    assert classifier.learning_curve_[0][0].certificate == classifier.certificates_[0]
    if name != "auto":  # an epoch of Newton steps counts as one update
        assert not classifier.converged_
        assert classifier.n_updates_ < others.n_updates_


@quiet
@pytest.mark.parametrize("name", ["cramma", "margitron", "mpu"])
def test_a_fit_that_would_take_long_ends_in_time(name):
    X, y = load_breast_cancer(return_X_y=True)  # not scaled
    classifier = ALGORITHMS[name](C=1.0, eps=1e-4, max_time=LIMIT, random_state=0)
    begin = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"max_time=0\.1 seconds came first"):
        classifier.fit(X, y)
    assert LIMIT <= time.perf_counter() - begin < LIMIT + ALLOWED
    assert classifier.certificates_[0].n_updates == classifier.n_updates_ > 0


@quiet
@pytest.mark.parametrize("solver", ["newton", "decomposition", "conjugate", "unlearning", "dcd"])
def test_every_solver_ends_in_time(solver):
    X, y = noisy(6000, 20)
    kernel = "linear" if solver == "newton" else "rbf"
    params = {"loss": "hinge", "C": 100.0, "kernel": kernel, "eps": 1e-9, "random_state": 0}
    classifier = margins.MarginClassifier(solver=solver, max_time=LIMIT, **params)
    begin = time.perf_counter()
    classifier.fit(X, y)
    assert time.perf_counter() - begin < LIMIT + 3 * ALLOWED  # kernel rows of the certificate
    (certificate,) = classifier.certificates_
    assert 0 <= certificate.dual <= certificate.primal


@quiet
@pytest.mark.parametrize("name", ["perceptron", "auto", "budget-perceptron"])
def test_classes_share_the_time(name):
    X, y = load_digits(return_X_y=True)
    params = {"max_iter": 10**6, "random_state": 0, "max_time": 0.25}
    params |= {"eps": 1e-9} if name == "auto" else {}
    begin = time.perf_counter()
    classifier = ALGORITHMS[name](**params).fit(X, y)
    assert time.perf_counter() - begin < 0.25 + ALLOWED
    assert all(certificate.n_updates > 0 for certificate in classifier.certificates_)
    assert classifier.score(X, y) > 0.5


@quiet
@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_pairs_over_all_inner_products_end_in_time(penalize_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 140)), np.arange(400) % 4  # random labels: pairs move often
    params = {"C": 100.0, "penalize_intercept": penalize_intercept, "random_state": 0}
    limited, unlimited, far = (
        margins.MarginClassifier(max_time=limit, **params).fit(X, y) for limit in (SHORTEST, None, 3600)
    )
    assert limited.solver_ == "decomposition"
    assert all(records[0].accesses <= 4 * len(y) for records in limited.phases_)
    assert all(records[0].accesses > 5 * len(y) for records in unlimited.phases_)
    assert_array_equal(far.coef_, unlimited.coef_)


@quiet
@pytest.mark.parametrize("name", ["perceptron", "mpu", "alma", "auto", "second-order-perceptron"])
def test_a_limit_that_is_not_reached_changes_nothing(name):
    X, y = noisy()
    limited = ALGORITHMS[name](max_iter=20, random_state=0, max_time=3600).fit(X, y)
    unlimited = ALGORITHMS[name](max_iter=20, random_state=0).fit(X, y)
    assert_array_equal(limited.coef_, unlimited.coef_)
    assert limited.certificates_ == unlimited.certificates_


def test_limits_are_nested_and_of_one_context():
    past = time.perf_counter() - 1
    with time_limit(past):
        with pytest.raises(TimeLimitReached):
            check_time()
        with time_limit(float("inf")):
            check_time()
        assert time_is_over()
    check_time()


def test_time_that_a_problem_leaves_is_shared_by_the_next_ones():
    budget = TimeBudget(8.0, n_problems=4, n_threads=1)
    first, second = (budget.end_of_next() - time.perf_counter() for _ in range(2))
    assert first == pytest.approx(2, abs=0.1)
    assert second == pytest.approx(8 / 3, abs=0.1)
    budget = TimeBudget(8.0, n_problems=4, n_threads=2)
    assert budget.end_of_next() - time.perf_counter() == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("limit", [4.0, 6.0, 9.0])  # the first working set takes 3
def test_the_last_sums_of_a_kernel_end_within_the_limit(loss, limit, monkeypatch):
    """By a clock that counts kernel values. The sums of the certificate took half as long again."""
    clock, compute, sums = [0.0], FormulaBlocks.compute, FormulaBlocks.sums

    def computed(blocks, indices, slots):
        clock[0] += 1e-6 * len(indices) * blocks.slots.shape[1]
        return compute(blocks, indices, slots)

    def summed(blocks, indices, support, coefficients):
        clock[0] += 1.5e-6 * len(indices) * len(support)
        return sums(blocks, indices, support, coefficients)

    monkeypatch.setattr(FormulaBlocks, "compute", computed)
    monkeypatch.setattr(FormulaBlocks, "sums", summed)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    X, y = noisy(6000)
    classifier = margins.MarginClassifier(kernel="rbf", loss=loss, eps=1e-6, max_time=limit, C=100)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        classifier.fit(X, y)
    assert 0.3 * limit <= clock[0] <= 1.1 * limit
    assert classifier.certificates_[0].gap < np.inf
