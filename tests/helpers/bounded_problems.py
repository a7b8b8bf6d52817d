"""Problems of small integers whose radius and maximum margin are known."""

from dataclasses import dataclass

import exact_optima
import numpy as np
import oracles
from hypothesis import assume
from hypothesis import strategies as st

SLACK = 1e-9  # relative; gamma_d itself is known to about 1e-12 only


@dataclass
class Problem:
    data: np.ndarray
    R: float
    gamma: float
    seed: int

    def orders(self, epochs=10_000):
        rng = np.random.default_rng(self.seed)
        return (rng.permutation(len(self.data)) for _ in range(epochs))


# Hypothesis chooses the sizes, a seeded generator the numbers: left to itself, Hypothesis prefers
# matrices of zeros and ones, on which nothing takes more than a few updates.
@st.composite
def samples(draw):
    """Draw X (m, d), labels, rho and a seed; all but the seed small integers."""
    m, d, seed = draw(st.integers(4, 10)), draw(st.integers(2, 4)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (m, d)).astype(float)
    return X, rng.choice([-1, 1], m), draw(st.sampled_from([0, 1, 2])), seed


@st.composite
def separable(draw):
    """Draw samples of small integers, labelled by a hyperplane or else extended."""
    X, y, rho, seed = draw(samples())
    delta = draw(st.sampled_from([0, 0, 1, 2, 3]))
    if not delta:
        hidden = np.random.default_rng(seed).integers(-3, 4, X.shape[1] + 1)
        scores = X @ hidden[:-1] + rho * hidden[-1]
        X, y = X[scores != 0], np.sign(scores[scores != 0])
        assume(len(X))
    data = oracles.data_of(X, y, rho, delta**2)
    R = float(np.linalg.norm(data, axis=1).max())
    gamma = min(exact_optima.maximum_margin(data), R)
    assume(16 * gamma > R)  # or runs take long
    return Problem(data, R, gamma, seed)


@st.composite
def noisy(draw):
    """Draw samples of small integers that usually no hyperplane separates."""
    X, y, rho, seed = draw(samples())
    data = oracles.data_of(X, y, rho)
    data = data[np.any(data != 0, axis=1)]
    assume(len(data))
    return Problem(data, float(np.linalg.norm(data, axis=1).max()), 0.0, seed)


PDM_LEVELS = tuple(
    oracles.Level(passes, oracles.below(factor)) for passes, factor in [(9, 2.2), (12, 1.1), (12, 1)]
)
MPU_LEVELS = (
    oracles.Level(3, oracles.below_or_supporting(1.01)),
    oracles.Level(10, oracles.changed_and_supporting),
)
schedules = st.fixed_dictionaries(
    {
        "multiple": st.booleans(),
        "levels": st.sampled_from([(), PDM_LEVELS, MPU_LEVELS]),
        "first_pass_single": st.booleans(),
    }
)
