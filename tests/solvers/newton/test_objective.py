"""Single Newton steps, over a working set and with what the other samples contribute."""

import math

import numpy as np
import oracles
from sample_problems import rows_of

from margins.data._passes import products
from margins.data.binary_data import augmented_sqnorms, make_binary_data
from margins.losses._smoothed import SmoothLoss
from margins.solvers.newton._dense_hessian import DenseHessian
from margins.solvers.newton._objective import Objective


def test_steps_with_a_free_intercept_count_the_samples_that_a_working_set_leaves_out():
    # No sample is free, and those outside the working set pull at the intercept.
    rng, n_steps = np.random.default_rng(0), 0
    for _ in range(300):
        m, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        X, y = rng.normal(size=(m, d)), np.where(np.arange(m) % 2, 1, -1)
        rows, costs = rows_of(X), 10 ** rng.uniform(-1, 1, m)
        sqnorms = augmented_sqnorms(rows.sqnorms(), 1.0, hard_margin=False)
        data = make_binary_data(rows, sqnorms, y > 0, 1.0, 0.0, math.inf, has_free_intercept=True)
        Y, members = oracles.data_of(X, y, 1.0), np.arange(m // 2, dtype=np.int32)
        others = rng.integers(0, 2, m - m // 2) * costs[m // 2 :]
        fixed, C = others @ Y[m // 2 :], costs[members]
        loss = SmoothLoss(np.zeros(len(C)), C, 1e3 * C, 1.0, True)
        w = 3 * rng.normal(size=d + 1)
        objective = Objective(
            *(data, members, fixed, others.sum(), w, products(data, members, w), loss),
            DenseHessian(data, np.ones(m), False),
        )

        def value(w, some=Y[members], C=C, fixed=fixed):
            slopes = np.clip(1e3 * C * (1 - some @ w), 0, C)
            losses = slopes * (1 - some @ w) - slopes**2 / (2e3 * C)
            return 0.5 * w[:-1] @ w[:-1] - fixed @ w + losses.sum()

        start = np.array(objective.w)
        slopes = 1e3 * C * (1 - Y[members] @ start)
        before = value(start)
        if ((slopes > 0) & (slopes < C)).any() or objective.minimise(0.0, 0.0, 1) == 0:
            continue
        n_steps += 1
        assert value(np.array(objective.w)) <= before + 1e-12 * abs(before)
    assert n_steps > 140
