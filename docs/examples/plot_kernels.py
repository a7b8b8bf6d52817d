"""
Kernels
=======

Curved boundaries with the RBF kernel, each with a proven gap. `gamma` determines how far the influence
of a sample reaches.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import margins

X, y = make_moons(400, noise=0.2, random_state=0)
grid_x, grid_y = np.meshgrid(np.linspace(-1.6, 2.6, 150), np.linspace(-1.2, 1.7, 150))
points = np.column_stack([grid_x.ravel(), grid_y.ravel()])

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, gamma in zip(axes, (0.2, 2, 20), strict=True):
    classifier = margins.MarginClassifier(loss="hinge", kernel="rbf", gamma=gamma, C=10, eps=1e-3)
    classifier.fit(X, y)
    scores = classifier.decision_function(points).reshape(grid_x.shape)
    ax.contourf(grid_x, grid_y, scores, levels=[-np.inf, 0, np.inf], colors=["C0", "C3"], alpha=0.25)
    ax.contour(grid_x, grid_y, scores, levels=[-1, 1], colors="0.4", linestyles="--")
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=10)
    gap = classifier.certificates_[0].gap
    ax.set_title(f"gamma = {gamma}: {len(classifier.support_)} support vectors,\nproven gap {gap:.1e}")
