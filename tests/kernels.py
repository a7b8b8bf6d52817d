"""Small problems for the kernel tests: integer patterns in every layout, and runs in a given order."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.patterns import augmented_sqnorms, binary_patterns, rows_of

LAYOUTS = {
    "dense": lambda X: X,
    "dense float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "Fortran float32": lambda X: np.asfortranarray(X.astype(np.float32)),
    "sliced": lambda X: np.repeat(np.repeat(X, 3, axis=0), 2, axis=1)[::3, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "CSR": sparse.csr_array,
    "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "CSR int64": lambda X: _with_int64_indices(sparse.csr_array(X)),
    "CSR float32 int64": lambda X: _with_int64_indices(sparse.csr_array(X.astype(np.float32))),
    "read-only": lambda X: _read_only(X.copy()),
    "read-only CSR": lambda X: _read_only(sparse.csr_array(X)),
}


def _with_int64_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _read_only(X):
    for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        array.flags.writeable = False
    return X


@st.composite
def problems(draw, max_patterns=8, max_features=5, largest=4, values=None):
    """X (m, d) of small integers, as float64, and labels y in {-1, +1}, both classes present."""
    m = draw(st.integers(2, max_patterns))
    d = draw(st.integers(1, max_features))
    elements = st.integers(-largest, largest) if values is None else st.sampled_from(values)
    X = draw(arrays(np.float64, (m, d), elements=elements.map(float)))
    y = draw(arrays(np.int8, m, elements=st.sampled_from([-1, 1])))
    y[0], y[-1] = 1, -1
    return X, y


def patterns_of(X, y, rho=1.0, delta2=0.0, upper=np.inf):
    """The kernel's patterns of X, as it is, in whatever layout."""
    rows = rows_of(X)
    return binary_patterns(
        rows,
        augmented_sqnorms(rows.sqnorms(), rho**2, hard_margin=False),
        np.asarray(y) > 0,
        rho**2,
        delta2,
        upper,
    )


def orders_of(m, n_epochs, seed):
    generator = np.random.default_rng(seed)
    return [generator.permutation(m).astype(np.int32) for _ in range(n_epochs)]


def run(patterns, rules, orders, levels=(), opening=None):
    """Present the patterns epoch by epoch, up to a clean full pass.

    Returns
    -------
    weights : WeightVector
    n_epochs : int
    converged : bool
    """
    weights = WeightVector(patterns.rows.n_features, len(patterns))
    for epoch, order in enumerate(orders):
        first = opening is not None and epoch == 0
        sets = ActiveSets(opening[1] if first else levels, len(patterns))
        changed = sets.full_epoch(patterns, weights, rules, order, opening[0] if first else None)
        weights.recompute(patterns)
        if changed == 0:
            return weights, epoch + 1, True
    return weights, len(orders), False


def replay(patterns, rules, orders):
    """Present one pattern at a time: the updates as (pattern, multiplicity), and the weight vector."""
    weights = WeightVector(patterns.rows.n_features, len(patterns))
    plain = ActiveSets((), 1)
    updates = []
    for order in orders:
        n_before = len(updates)
        for k in order:
            before, dual_sum = weights.n_updates, weights.dual_sum
            plain.full_epoch(patterns, weights, rules, np.array([k], dtype=np.int32))
            if weights.n_updates > before:
                unlearned = rules.shrink.is_identity and weights.dual_sum < dual_sum
                updates.append(
                    (int(k), (before - weights.n_updates if unlearned else weights.n_updates - before))
                )
        if len(updates) == n_before:
            break
    return updates, weights


def vector_of(weights, y, delta2=0.0, rho=1.0):
    """The weight vector over features, bias and private coordinates, as the oracles have it."""
    parts = [weights.weights, [rho * weights.label_sum]]
    if np.any(delta2):
        parts.append(np.sqrt(delta2) * y * weights.dual)
    return np.concatenate(parts)
