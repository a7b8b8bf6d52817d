"""
Data that are read in chunks
============================

The samples are in a memory map, of which one chunk at a time is read. `partial_fit` gives the same model
for any division into chunks, bit for bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import margins

rng = np.random.default_rng(0)
n, d = 200_000, 20
path = Path(tempfile.mkdtemp()) / "samples"
samples = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, d))
target = rng.normal(size=d)
labels = np.empty(n, dtype=np.int8)
for begin in range(0, n, 20_000):
    chunk = rng.normal(size=(20_000, d)) / np.sqrt(d)
    samples[begin : begin + 20_000] = chunk
    labels[begin : begin + 20_000] = np.where(chunk @ target + 0.3 * rng.normal(size=20_000) > 0, 1, -1)
samples.flush()


def read(size):
    """The chunks of a file that does not have to fit into memory."""
    mapped = np.memmap(path, dtype=np.float32, mode="r", shape=(n, d))
    for begin in range(0, n - 20_000, size):
        yield mapped[begin : begin + size], labels[begin : begin + size]


test = slice(n - 20_000, n)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name in ("pa-i", "averaged-perceptron"):
    stream, accuracy = margins.get(name)(), []
    for X, y in read(5_000):
        stream.partial_fit(X, y, classes=[-1, 1])
        accuracy.append(stream.score(samples[test], labels[test]))
    ax.plot(np.arange(1, len(accuracy) + 1) * 5_000, accuracy, label=name)
    other = margins.get(name)()
    for X, y in read(60_000):
        other.partial_fit(X, y, classes=[-1, 1])
    print(name, "the same in chunks of 60,000:", bool((other.coef_ == stream.coef_).all()))
ax.set_xlabel("samples")
ax.set_ylabel("accuracy on later samples")
ax.legend()
