"""A fit takes memory for some vectors, but for no copy of X, however X lies in memory."""

import json
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import margins

# What a fit of m samples and one binary problem may take beside X, in bytes: some vectors of 8 m for
# squared norms, labels, orders, active sets, dual variables, products, slacks and what NumPy makes of
# them on the way (at most 16 at once), 8 d for a few weight vectors, and 1 MB for everything else.
# 15 % of X come on top, which is what distinguishes vectors from a copy.
VECTORS_OF_SAMPLES = 16
VECTORS_OF_FEATURES = 8

MEASUREMENT = """
    import json, pathlib, sys, tempfile, tracemalloc, warnings
    import numpy as np
    from scipy import sparse
    import margins

    warnings.simplefilter("ignore")
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    folder = pathlib.Path(temporary.name)
    BYTES = 10_000_000
    rng = np.random.default_rng(0)


    def dense(d, dtype=np.float64, order="C"):
        m = BYTES // (d * np.dtype(dtype).itemsize)
        return rng.random(m * d, dtype=dtype).reshape((m, d), order=order)


    def csr(dtype=np.float64, index=np.int32, d=2000, row=250):
        m = BYTES // (row * (np.dtype(dtype).itemsize + np.dtype(index).itemsize))
        steps = rng.integers(1, d // row + 1, (m, row), dtype=index)
        columns = np.cumsum(steps, axis=1, dtype=index).ravel()
        columns -= 1
        starts = np.arange(0, m * row + 1, row, dtype=index)
        data = rng.random(m * row, dtype=dtype)
        return assembled(data, columns, starts, (m, d))


    def assembled(data, columns, starts, shape):
        X = sparse.csr_matrix(shape, dtype=data.dtype)
        X.data, X.indices, X.indptr = data, columns, starts
        return X


    def mapped(array, name):
        np.save(folder / f"{name}.npy", array)
        return np.load(folder / f"{name}.npy", mmap_mode="r")


    def ones():
        X = csr()
        X.data[:] = 1
        return X


    def unsorted():
        X = csr()
        backwards = X.indices.reshape(X.shape[0], -1)[:, ::-1].ravel()
        return assembled(X.data, backwards, X.indptr, X.shape)


    def mapped_csr():
        X = csr()
        keys = ("data", "indices", "indptr")
        return assembled(*(mapped(getattr(X, key), key) for key in keys), X.shape)


    layouts = {
        "C order": lambda: dense(500),
        "Fortran order": lambda: dense(500, order="F"),
        "float32": lambda: dense(500, np.float32),
        "float32, Fortran order": lambda: dense(500, np.float32, "F"),
        "every third column": lambda: dense(500)[:, ::3],
        "memory map": lambda: mapped(dense(500), "X"),
        "CSR": csr,
        "CSR of float32": lambda: csr(np.float32),
        "CSR with int64 indices": lambda: csr(index=np.int64),
        "CSR of ones": ones,
        "CSR of memory maps": mapped_csr,
        "CSR with unsorted indices": unsorted,
    }
    # Without active sets, where one full epoch would take many passes.
    perceptron = margins.get("margin-perceptron")
    fits = {
        "binary": lambda X, y: perceptron(max_iter=1, random_state=0).fit(X, y > 0),
        "hinge": lambda X, y: margins.get("mpu")(loss="hinge", max_iter=1, random_state=0).fit(X, y > 0),
        "4 classes": lambda X, y: perceptron(max_iter=1, n_jobs=2).fit(X, y),
    }
    for name in fits:  # what is loaded once, for a warning too, is not counted
        for X in (np.ones((8, 2)), mapped(np.ones((8, 2)), "small")):
            fits[name](X, np.arange(8) % 4 - 1)
    result = {}
    for layout, make in layouts.items():
        X = make()
        y = rng.integers(-1, 3, X.shape[0])
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
        for name in fits if layout in ("C order", "CSR") else ["binary"]:
            tracemalloc.start()
            fits[name](X, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            result[f"{layout}: {name}"] = [peak, size, *X.shape]
        del X
    json.dump(result, sys.stdout)
"""


@pytest.fixture
def peaks():
    """{case: (peak bytes that NumPy has allocated during a fit, bytes of X, samples, features)}."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASUREMENT)], capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_fits_take_vectors_but_no_copy_of_X(peaks):
    assert len(peaks) == 16
    for case, (peak, size, m, d) in peaks.items():
        problems = 4 if "4 classes" in case else 1
        vectors = 8 * (VECTORS_OF_SAMPLES * m + VECTORS_OF_FEATURES * d) * problems
        assert peak <= 0.15 * size + vectors + 1_000_000, case
        # The formula would notice a copy, even one of float32 or of the values only.
        assert 0.15 * size + vectors + 1_000_000 < 0.6 * size, case


@pytest.mark.parametrize("solver", ["auto", "newton"])  # Newton steps have two weight vectors
def test_weights_of_finished_classes_are_kept_once(solver):
    rng = np.random.default_rng(0)
    n_classes, n_features, m = 40, 30_000, 400
    y = np.arange(m) % n_classes
    X = sparse.csr_array(sparse.random(m, n_features, density=1e-3, random_state=rng))
    X += sparse.csr_array((np.ones(m), (np.arange(m), y)), shape=X.shape)
    classifier = margins.MarginClassifier(solver=solver)
    tracemalloc.start()
    classifier.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.3 * classifier.coef_.nbytes + 1_000_000
