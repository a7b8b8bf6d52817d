"""
A stream whose target drifts
============================

The best hyperplane turns while samples arrive. Algorithms whose steps depend only on the present sample
follow it. The averaged perceptron gives all samples the same weight and falls behind.
"""

import matplotlib.pyplot as plt
import numpy as np

import margins

rng = np.random.default_rng(0)
n_chunks, size, d = 120, 50, 10
streams = {
    "pa": margins.get("pa")(),
    "pa-i": margins.get("pa-i")(),
    "norma": margins.get("norma")(),
    "averaged-perceptron": margins.get("averaged-perceptron")(),
}
errors = {name: [] for name in streams}
for chunk in range(n_chunks):
    angle = 2 * np.pi * chunk / n_chunks
    target = np.r_[np.cos(angle), np.sin(angle), np.zeros(d - 2)]
    X = rng.normal(size=(size, d)) / np.sqrt(d)
    y = np.where(X @ target > 0, 1, -1)
    for name, stream in streams.items():
        if chunk:  # tested before it is trained on
            errors[name].append(np.mean(stream.predict(X) != y))
        stream.partial_fit(X, y, classes=[-1, 1])

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
window = np.ones(10) / 10
for name, values in errors.items():
    ax.plot(np.convolve(values, window, "valid"), label=f"{name}: {np.mean(values):.2f} on average")
ax.set_xlabel("chunk")
ax.set_ylabel("errors, mean of 10 chunks")
ax.legend()
