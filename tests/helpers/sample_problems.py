"""Layouts of matrices, small problems of integers, and runs of rules in a given order."""

import dataclasses

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from margins._activeset import ActiveSets
from margins._update import WeightVector
from margins.data.binary_data import augmented_sqnorms, make_binary_data, rows_of
from margins.tuning import TUNING

STORAGES = {
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
}
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


def _unsorted(X):
    """CSR with columns in descending order."""
    X = sparse.csr_array(X)
    for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[begin:end] = X.indices[begin:end][::-1].copy()
        X.data[begin:end] = X.data[begin:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def _with_zeros(X):
    """CSR that stores every element, zeros too."""
    m, d = X.shape
    return sparse.csr_array((X.ravel(), np.tile(np.arange(d), m), np.arange(0, m * d + 1, d)), (m, d))


def doubled(X):
    """CSR of X that stores every element as two halves."""
    X = sparse.csr_array(X)
    return sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)


ALL_LAYOUTS = LAYOUTS | {"unsorted CSR": _unsorted, "CSR with zeros": _with_zeros}


@st.composite
def problems(draw, max_samples=8, max_features=5, largest=4, values=None):
    """X (m, d) of small integers, as float64, and labels y in {-1, +1} of both classes."""
    m = draw(st.integers(2, max_samples))
    d = draw(st.integers(1, max_features))
    elements = st.integers(-largest, largest) if values is None else st.sampled_from(values)
    X = draw(arrays(np.float64, (m, d), elements=elements.map(float)))
    y = draw(arrays(np.int8, m, elements=st.sampled_from([-1, 1])))
    y[0], y[-1] = 1, -1
    return X, y


def data_of(X, y, rho=1.0, delta2=0.0, upper=np.inf):
    """BinaryData of X, in its own layout."""
    rows = rows_of(X)
    return make_binary_data(
        rows,
        augmented_sqnorms(rows.sqnorms(), rho**2, hard_margin=False),
        np.asarray(y) > 0,
        rho**2,
        delta2,
        upper,
    )


def orders_of(m, n_epochs, seed):
    return list(each_order_of(m, n_epochs, seed))


def each_order_of(m, n_epochs, seed):
    """The orders one by one, for runs that may end long before the last."""
    generator = np.random.default_rng(seed)
    for _ in range(n_epochs):
        yield generator.permutation(m).astype(np.int32)


def seed_of(random_state):
    """The seed that a fit of two classes draws."""
    return int(np.random.RandomState(random_state).randint(np.iinfo(np.int32).max))


def orders_of_fit(m, n_epochs, random_state):
    """The orders of a fit of two classes: one, shuffled again and again."""
    order, generator = np.arange(m, dtype=np.int32), np.random.default_rng(seed_of(random_state))
    for _ in range(n_epochs):
        generator.shuffle(order)
        yield order.copy()


def run(data, rules, orders, levels=(), opening=None):
    """Process the samples epoch by epoch, up to a full pass without updates.

    Returns
    -------
    weights : WeightVector
    n_epochs : int
    converged : bool
    """
    weights = WeightVector(data.rows.n_features, len(data))
    for epoch, order in enumerate(orders):
        first = opening is not None and epoch == 0
        sets = ActiveSets(opening[1] if first else levels, len(data))
        changed = sets.full_epoch(data, weights, rules, order, opening[0] if first else None)
        weights.recompute(data)
        if changed == 0:
            return weights, epoch + 1, True
    return weights, epoch + 1, False


def replay(data, rules, orders):
    """Process one sample at a time: the updates as (sample, multiplicity), and the weight vector."""
    weights = WeightVector(data.rows.n_features, len(data))
    plain = ActiveSets((), 1)
    updates = []
    for order in orders:
        n_before = len(updates)
        for k in order:
            before, dual_sum = weights.n_updates, weights.dual_sum
            plain.full_epoch(data, weights, rules, np.array([k], dtype=np.int32))
            if weights.n_updates > before:
                unlearned = rules.shrink.is_identity and weights.dual_sum < dual_sum
                updates.append(
                    (int(k), (before - weights.n_updates if unlearned else weights.n_updates - before))
                )
        if len(updates) == n_before:
            break
    return updates, weights


def vector_of(weights, y, delta2=0.0, rho=1.0):
    """The weight vector over features, bias and slack terms, as the oracles represent it."""
    parts = [weights.weights, [rho * weights.label_sum]]
    if np.any(delta2):
        parts.append(np.sqrt(delta2) * y * weights.dual)
    return np.concatenate(parts)


def tuning_with(**sections):
    """TUNING with other values: ``tuning_with(newton={"max_steps": 1})``."""
    changed = {
        name: dataclasses.replace(getattr(TUNING, name), **values) for name, values in sections.items()
    }
    return dataclasses.replace(TUNING, **changed)
