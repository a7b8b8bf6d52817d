"""
Noisy labels
============

The last hypothesis of a perceptron depends on its last mistakes. Averages, votes and margins help more
as the labels get noisier.
"""

import matplotlib.pyplot as plt
import numpy as np

import margins
from margins.datasets.generators import make_noisy_halfspace

settings = {
    "perceptron": ("pam", {"tau": 0}),
    "with margin": ("pam", {"tau": 4}),
    "averaged": ("averaged-perceptron", {}),
    "voted": ("voted-perceptron", {}),
    "MarginClassifier": ("auto", {"C": 0.01}),
}
levels = (0, 0.05, 0.1, 0.15, 0.2, 0.25)
accuracy = {label: [] for label in settings}
for noise in levels:
    X, y = make_noisy_halfspace(50, noise=noise, n_samples=3000, random_state=0)
    for label, (name, params) in settings.items():
        classifier = margins.get(name)(random_state=0, **params).fit(X[:1000], y[:1000])
        accuracy[label].append(classifier.score(X[1000:], y[1000:]))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for (label, values), marker in zip(accuracy.items(), "osv^D", strict=True):
    ax.plot(levels, values, marker=marker, label=label)
ax.plot(levels, 1 - np.array(levels), "k:", label="what noise allows")
ax.set_xlabel("share of wrong labels")
ax.set_ylabel("accuracy on new samples, whose labels are noisy, too")
ax.legend()
