"""The check of a large dense X by its squared norms."""

import numpy as np
import pytest

import margins
from margins.linalg.threads import MIN_SHARED


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_found_in_a_large_array(value):
    X = np.ones((MIN_SHARED // 32, 32))
    X[12_345, 6] = value
    with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
        margins.MarginClassifier().fit(X, np.arange(len(X)) % 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_order_in_memory_does_not_change_a_fit(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MIN_SHARED // 16, 16)).astype(dtype)
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    row_by_row = margins.MarginClassifier(eps=1e-6, random_state=0).fit(X, y)
    by_column = margins.MarginClassifier(eps=1e-6, random_state=0).fit(np.asfortranarray(X), y)
    assert row_by_row.converged_ and by_column.converged_
    np.testing.assert_allclose(row_by_row.coef_, by_column.coef_, rtol=1e-3, atol=1e-4)
