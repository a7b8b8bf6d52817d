"""
Margins in the plane
====================

The maximum margin, hard and soft, of samples with two features. Each picture shows the separating line,
the margin in grey, and the support vectors in rings.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import margins
from margins.plotting import MarginDisplay

X, y = make_blobs(60, centers=[[-1.5, -1], [1.5, 1]], cluster_std=0.75, random_state=1)
figure, axes = plt.subplots(1, 3, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, C in zip(axes, (np.inf, 1.0, 0.01), strict=True):
    classifier = margins.MarginClassifier(C=C, loss="hinge", eps=1e-4).fit(X, y)
    display = MarginDisplay.from_estimator(classifier, X, y, ax=ax)
    margin = 1 / np.linalg.norm(classifier.coef_)
    ax.set_title(f"C = {C:g}: {len(display.support)} support vectors,\nmargin {margin:.3f}")
    ax.get_legend().remove()

# %%
# The certificate of the hard margin proves that no line has a margin larger by more than one part in
# ten thousand. The intercept counts as one more weight here, so `margin` is measured with one more
# feature of value 1.
hard = margins.MarginClassifier(C=np.inf, eps=1e-4).fit(X, y)
print(hard.certificates_[0])

# %%
# Two margins
# -----------
#
# A penalised intercept pulls the line towards the origin and turns it; the effect grows with the
# distance of the samples from the origin. A free intercept gives the widest gap, and its margin is the
# distance of the closest sample. Dotted: the largest circle around that sample that does not cross the
# line.
offset = [0, 3]
far = X + offset
grid_x, grid_y = np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-4, 4, 200))
points = np.column_stack([grid_x.ravel(), grid_y.ravel()])
figure, axes = plt.subplots(1, 2, figsize=(8, 4.6), sharey=True, layout="constrained")
for ax, is_penalized in zip(axes, (True, False), strict=True):
    classifier = margins.MarginClassifier(C=np.inf, penalize_intercept=is_penalized, eps=1e-4)
    classifier.fit(far, y)
    margin, (distance,) = classifier.certificates_[0].margin, classifier.geometric_margin(far, y)
    scores = classifier.decision_function(points + offset).reshape(grid_x.shape)
    ax.contour(grid_x + offset[0], grid_y + offset[1], scores, levels=[0], colors="0.4")
    ax.scatter(*far.T, c=y, cmap="coolwarm", s=18)
    closest = far[np.abs(classifier.decision_function(far)).argmin()]
    ax.add_patch(plt.Circle(closest, distance, fill=False, linestyle=":"))
    kind = "penalised" if is_penalized else "free"
    ax.set_title(f"{kind} intercept: margin {margin:.3f},\ndistance {distance:.3f}")
    ax.set_aspect("equal")
