"""Checks of the data of a fit: layouts, no changes to the data, and chunks."""

import pickle

import numpy as np
from scipy import sparse

from margins.testing.algorithms.fits import (
    check,
    difference,
    make,
    require_same_fit,
    scores_of,
)
from margins.testing.reports import require
from margins.testing.truth import clouds


def csr(X, dtype, index):
    X = sparse.csr_matrix(X.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "read-only": _read_only,
    "CSR": lambda X: csr(X, np.float64, np.int32),
    "CSR array": sparse.csr_array,
    "CSR of float32": lambda X: csr(X, np.float32, np.int32),
    "CSR with int64 indices": lambda X: csr(X, np.float64, np.int64),
    "CSR of float32 with int64 indices": lambda X: csr(X, np.float32, np.int64),
}


@check
def check_weights(algorithm, params):
    """Weights of 1 change no bit; different weights change a fit or raise an error."""
    X, y = clouds()
    needed = {"random_state": 0, "max_iter": 8}
    plain = make(algorithm, params, **needed).fit(X, y)
    ones = make(algorithm, params, **needed).fit(X, y, np.ones(len(y)))
    require_same_fit(ones, plain, "weights of 1 and none")
    try:
        weighted = make(algorithm, params, **needed).fit(X, y, np.where(y == 1, 9.0, 1.0))
    except ValueError:
        return
    changed = difference(scores_of(weighted, X), scores_of(plain, X))
    require(changed, "the same scores from weights of 1 and 9", "other scores, or a ValueError")


@check
def check_layouts(algorithm, params):
    """Dense or CSR, float32 or float64, int32 or int64 indices give the same fit, up to rounding."""
    X, y = clouds()
    X[::3, 1] = 0
    needed = {"random_state": 0, "max_iter": 8}
    expected = make(algorithm, params, **needed).fit(X, y)
    scores = scores_of(expected, X)
    for name, layout in LAYOUTS.items():
        classifier = make(algorithm, params, **needed).fit(layout(X), y)
        for key in ("n_updates_", "n_iter_"):
            got, ours = getattr(classifier, key, None), getattr(expected, key, None)
            require(got == ours, f"{key} = {got} from X in {name}", f"{ours}, as from float64")
        for what, other in (("fitted to X", X), ("of X", layout(X))):
            own = scores_of(classifier, other)
            if scores.dtype.kind == "f":
                close = own.shape == scores.shape and np.allclose(
                    own, scores, rtol=1e-6, atol=1e-6 * np.abs(scores).max()
                )
                worst = np.abs(own - scores).max() if own.shape == scores.shape else own.shape
            else:
                close = worst = np.array_equal(own, scores)
            require(close, f"other scores {what} in {name}: {worst}", "as from dense float64, to 1e-6")


@check
def check_data_are_left_alone(algorithm, params):
    """A fit changes neither X, y nor the parameters, and returns the classifier."""
    dense, y = clouds(n_classes=3)
    for X in (dense, csr(dense, np.float32, np.int32)):
        copy_X, copy_y = X.copy(), y.copy()
        classifier = make(algorithm, params, random_state=0, max_iter=8)
        before = dict(classifier.get_params(deep=False))
        require(classifier.fit(X, y) is classifier, "something else from fit", "the classifier")
        classifier.predict(X)
        require(not difference(X, copy_X), "another X after fit", "X unchanged")
        require(not difference(y, copy_y), "another y after fit", "y unchanged")
        after = classifier.get_params(deep=False)
        for name, value in before.items():
            require(after[name] is value, f"{name}={after[name]!r} after fit", f"{name}={value!r}")


@check
def check_partial_fit(algorithm, params):
    """Results do not depend on the sizes of chunks, nor on pickling between them."""
    if not hasattr(make(algorithm, params), "partial_fit"):
        return
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0, 2.0], size=(40, 6))
    y = np.where(X @ [3, 2, 1, 1, 1, 0.5] + rng.normal(size=40) > 0, 1, 0)
    whole = make(algorithm, params).partial_fit(X, y, classes=[0, 1])
    for size in (1, 7, 20):
        pieces = make(algorithm, params)
        for begin in range(0, 40, size):
            pieces.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=[0, 1])
            pieces = pickle.loads(pickle.dumps(pieces)) if size > 1 else pieces
        found = difference(scores_of(pieces, X), scores_of(whole, X))
        require(not found, f"other scores from chunks of {size} samples: {found}", "as from one chunk")
        got, ours = getattr(pieces, "n_updates_", None), getattr(whole, "n_updates_", None)
        require(got == ours, f"{got} updates from chunks of {size}", f"{ours}, as in one chunk")
