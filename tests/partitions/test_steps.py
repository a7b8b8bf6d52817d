"""Newton steps over partitions, where samples differ by many orders of magnitude."""

import numpy as np
import pytest

import margins
from margins.data.chunks import Chunks


@pytest.mark.parametrize(("seed", "m", "d"), [(225, 12, 3), (270, 8, 5)])
def test_steps_do_not_go_round_in_circles(seed, m, d):
    """A step that is taken because it shortens the gradient may increase the objective."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (m, d)).astype(float), rng.integers(0, 2, m)
    weight = 10 ** rng.uniform(0, 10, m)
    classifier = margins.MarginClassifier(loss="hinge", penalize_intercept=False)
    classifier.fit(Chunks.of_rows(X, y, weight, n_rows=m // 2))
    assert classifier.converged_ and classifier.certificates_[0].gap <= 0.01
