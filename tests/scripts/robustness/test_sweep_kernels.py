"""The sweep of ill-conditioned kernel problems: a sample of them, and what it measures by."""

import numpy as np
import pytest
import sweep_kernels as sweep


def problems(n, seed=0):
    drawn = (sweep.problem_of(seed, number) for number in range(10 * n))
    return [problem for problem in drawn if problem is not None][:n]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_other_solver_proves_what_the_plan_leaves_unproven():
    for problem in problems(12):
        fitted = problem.fit()
        assert np.isfinite(fitted.decision_function(problem.X)).all(), problem
        if not fitted.converged_:
            assert [name for name in sweep.SOLVERS if sweep.proves(problem, name)] == [], problem


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gap_of_svc_follows_from_its_dual_variables(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80) > 0
    kernel = {"kernel": "rbf", "gamma": 0.5}
    problem = sweep.Problem("normal", X, y, kernel, 1.0, loss, penalize_intercept=False)
    rough, exact = (problem.gap_of_svc(problem.fit_svc(tol)) for tol in (1e-1, 1e-9))
    assert rough > 1e-5 and abs(exact) < 1e-7
    assert problem.fit().certificates_[0].gap <= problem.required_gap
    assert problem.seconds_of_svc() < 1
