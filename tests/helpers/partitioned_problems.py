"""Problems for fits in partitions, and what their certificates are compared with."""

import numpy as np
from scipy import sparse

from margins.data.chunks import Chunks


def problem(m=3000, d=8, seed=0, noise=0.5, n_classes=2):
    """Samples of noisy halfspaces: X, y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) / np.sqrt(d)
    scores = X @ rng.normal(size=(d, n_classes)) + noise * rng.normal(size=(m, n_classes))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)]


def sparse_problem(m=300, d=3000, seed=0):
    """Sparse samples of more features than samples: CSR X, y."""
    rng = np.random.default_rng(seed)
    X = sparse.random(m, d, density=0.01, format="csr", random_state=rng)
    return X, np.where(X @ rng.normal(size=d) + 0.2 * rng.normal(size=m) > 0, 1, -1)


def chunks_of(X, y, n_chunks, weight=None):
    """The same samples in chunks."""
    parts = np.array_split(np.arange(X.shape[0]), n_chunks)
    if weight is None:
        return Chunks([(X[part], y[part]) for part in parts])
    return Chunks([(X[part], y[part], weight[part]) for part in parts])


def objective(classifier, X, y, problem=0, weight=1.0):
    """The objective of a fitted classifier, in plain NumPy: float."""
    positive = classifier.classes_[1 if len(classifier.classes_) == 2 else problem]
    w, b = classifier.coef_[problem], classifier.intercept_[problem]
    slack = np.maximum(1 - np.where(y == positive, 1, -1) * (X @ w + b), 0)
    losses = slack**2 if classifier.loss == "squared_hinge" else slack
    return 0.5 * (w @ w + b * b) + classifier.C * float(np.sum(weight * losses))
