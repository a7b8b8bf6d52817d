"""`shuffle=False` of algorithms with one step for each sample: epochs are streams."""

import numpy as np
import pytest
from algorithm_groups import STEPS, quiet
from fitted_clouds import clouds, make
from numpy.testing import assert_array_equal


@quiet
@pytest.mark.parametrize("name", [*STEPS, "pegasos"])
def test_an_epoch_in_the_order_of_x_is_a_stream(name):
    X, y = clouds(distance=1.0)
    params = {"lam": 0.1} if name == "pegasos" else {"radius": 1.0} if name != "pa" else {}
    fits = [make(name, shuffle=False, max_iter=1, random_state=seed, **params) for seed in (0, 1)]
    stream = make(name, **params).partial_fit(X, y, [0, 1])
    for classifier in fits:
        classifier.fit(X, y)
        assert classifier.n_updates_ == stream.n_updates_
        found, expected = (
            np.r_[each.coef_[0], each.intercept_] / np.linalg.norm(each.coef_)
            for each in (classifier, stream)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    shuffled = make(name, max_iter=1, random_state=0, **params).fit(X, y)
    assert np.any(shuffled.coef_ != fits[0].coef_)
