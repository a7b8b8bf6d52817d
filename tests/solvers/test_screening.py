"""Screening: no sample is ever screened wrongly, and near the optimum most are screened."""

import dataclasses
import math

import numpy as np
import pytest
from certified_problems import examples, problems
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from margins.losses import HardMargin, Hinge, SquaredHinge
from margins.solvers.screening import ROUNDING, screened

# Of dual variables of the optimum, relative to the largest penalty.
SLACK = 1e-5


def optimum(data, C, loss):
    """The dual variables of the optimum, by coordinate descent and then by SciPy, to high accuracy."""
    Q = data @ data.T
    if loss == "squared_hinge":
        Q = Q + np.diag(0.5 / C)
        upper = np.full(len(C), np.inf)
    else:
        upper = C
    alpha = np.zeros(len(C))
    for _ in range(20_000):
        before = alpha.copy()
        for k in range(len(C)):
            gradient = Q[k] @ alpha - 1
            if Q[k, k] > 0:
                alpha[k] = min(max(alpha[k] - gradient / Q[k, k], 0), upper[k])
            else:
                alpha[k] = upper[k]
        if np.max(np.abs(alpha - before)) <= 1e-15 * C.max():
            break
    bounds = [(0, None if math.isinf(end) else end) for end in upper]
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        alpha,
        jac=lambda a: Q @ a - 1,
        bounds=bounds,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12},
    ).x
    value = [0.5 * a @ Q @ a - a.sum() for a in (alpha, found)]
    return alpha if value[0] <= value[1] else found


@examples(150)
@given(
    problem=problems(C=(0.1, 1.0, 100.0)),
    loss=st.sampled_from(["squared_hinge", "hinge"]),
    distance=st.sampled_from([0.0, 1e-4, 1e-2, 0.3]),
    seed=st.integers(0, 99),
)
def test_no_sample_is_screened_wrongly(problem, loss, distance, seed):
    problem = dataclasses.replace(problem, loss=loss)
    data, C = problem.data, problem.C_k
    alpha = optimum(data, C, loss)
    # Any weight vector, and any feasible dual variables: here at some distance of the optimum.
    rng = np.random.default_rng(seed)
    best = alpha @ data
    w = best + distance * np.linalg.norm(best) * rng.normal(size=len(best))
    dual = np.clip(alpha * (1 + distance * rng.normal(size=len(alpha))), 0, None)
    if loss == "hinge":
        dual = np.minimum(dual, C)
    objects = {"squared_hinge": SquaredHinge, "hinge": Hinge}
    found = screened(
        objects[loss](C),
        data @ w,
        np.sum(data**2, axis=1),
        problem.objective(w),
        problem.dual_objective(dual),
    )
    assert np.linalg.norm(w - best) <= found.radius + SLACK
    assert np.all(alpha[found.at_zero] <= SLACK * C.max())
    assert np.all(alpha[found.at_upper] >= C[found.at_upper] - SLACK * C.max())
    if loss == "squared_hinge":
        assert not found.at_upper.any()
    # The margins at the optimum are on the side that was said.
    margins = data @ best
    assert np.all(margins[found.at_zero] >= 1 - SLACK)
    assert np.all(margins[found.at_upper] <= 1 + SLACK)


def test_at_the_optimum_all_samples_off_the_margin_are_screened():
    X, y = np.array([[-3.0], [-1.0], [1.0], [4.0]]), np.array([-1, -1, 1, 1])
    data, C = X * y[:, None], np.full(4, 0.1)
    alpha = optimum(data, C, "hinge")
    w = alpha @ data
    primal = 0.5 * w @ w + C @ np.maximum(1 - data @ w, 0)
    found = screened(Hinge(C), data @ w, np.sum(data**2, axis=1), primal, primal)
    off = np.abs(data @ w - 1) > 1e-3
    np.testing.assert_array_equal(found.at_zero | found.at_upper, off)
    assert found.share == off.mean() and found.at_upper.any()
    assert found.radius == pytest.approx(math.sqrt(2 * ROUNDING * primal))


def test_without_a_proof_nothing_is_screened():
    margins, sqnorms = np.array([-5.0, 5.0]), np.ones(2)
    for primal, dual in ((math.inf, 0.0), (100.0, 0.0)):
        assert screened(Hinge(1.0), margins, sqnorms, primal, dual).share == 0


def test_the_hard_margin_has_no_ball():
    with pytest.raises(ValueError, match="must be finite. Got the hard margin"):
        screened(HardMargin(), np.ones(1), np.ones(1), 1.0, 1.0)
