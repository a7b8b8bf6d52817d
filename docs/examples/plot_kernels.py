"""
Kernels
=======

Curved boundaries with the RBF kernel, each with a proven gap. `gamma` determines how far the influence
of a sample reaches.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import margins
from margins.plotting import MarginDisplay

X, y = make_moons(400, noise=0.2, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, gamma in zip(axes, (0.2, 2, 20), strict=True):
    classifier = margins.MarginClassifier(loss="hinge", kernel="rbf", gamma=gamma, C=10, eps=1e-3)
    classifier.fit(X, y)
    MarginDisplay.from_estimator(classifier, X, y, ax=ax)
    gap = classifier.certificates_[0].gap
    ax.set_title(f"gamma = {gamma}: {len(classifier.support_)} support vectors,\nproven gap {gap:.1e}")
    ax.get_legend().remove()
