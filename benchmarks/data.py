"""Generated data of the benchmarks. MARGINS_BENCHMARK_SCALE below 1 makes all of it smaller."""

import os

import numpy as np
from scipy import sparse

SCALE = float(os.environ.get("MARGINS_BENCHMARK_SCALE", "1"))


def scaled(size):
    """A size, times the scale: int, at least 20."""
    return max(int(size * SCALE), 20)


def dense(m=20_000, d=50, noise=0.1, n_classes=2, seed=0):
    """Normal samples; labels of a linear rule with noise."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(scaled(m), d)) / np.sqrt(d)
    scores = X @ generator.normal(size=(d, n_classes if n_classes > 2 else 1))
    scores = scores + noise * generator.normal(size=scores.shape)
    y = scores.argmax(axis=1) if n_classes > 2 else (scores[:, 0] > 0).astype(int)
    return X, y


def text(m=10_000, d=30_000, n_words=60, seed=0):
    """CSR of rows of length 1, of few features of many; labels of a linear rule with noise."""
    generator = np.random.default_rng(seed)
    m, d = scaled(m), scaled(d)
    columns = (d * generator.random((m, n_words)) ** 3).astype(np.int32)
    X = sparse.csr_array(
        (np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, n_words)), shape=(m, d)
    )
    X.sum_duplicates()
    X = sparse.csr_array(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
    scores = X @ generator.normal(size=d) + 0.1 * generator.normal(size=m)
    return X, (scores > 0).astype(int)
