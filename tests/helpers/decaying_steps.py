"""Problems of NORMA and Pegasos, accesses to single samples, and checks of the state after them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margins._activeset import ActiveSets
from margins.rules import Additive, ConstantDecay, FixedThreshold, Rules

SLACK = 1e-9


def norma_rules(lam, eta, rho):
    return Rules(FixedThreshold(rho), Additive(eta, most=1), ConstantDecay(eta * lam))


def assert_state(weights, data, alpha, n_accesses):
    """The scalars of the state are those of the weight vector."""
    w = alpha @ data
    assert weights.sqnorm == pytest.approx(w @ w, rel=1e-9, abs=1e-12)
    assert weights.dual_sum == pytest.approx(alpha.sum(), rel=1e-9, abs=1e-12)
    assert weights.t == n_accesses
    assert_allclose(weights.dual, alpha, rtol=1e-9, atol=1e-12)


def present(data, weights, rules, order):
    sets = ActiveSets((), len(data))
    n_changed = sets.full_epoch(data, weights, rules, np.asarray(order, dtype=np.int32))
    return n_changed, weights
