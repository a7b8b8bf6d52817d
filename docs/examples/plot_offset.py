"""
Perceptrons far from the origin
===============================

The published algorithms learn the intercept as one more weight. Their number of updates is bounded by
a multiple of R^2 / gamma^2, where R is the norm of the longest sample and gamma the maximum margin. An
offset of all samples makes R larger and gamma smaller. Centre the data before you use these
algorithms.
"""

import matplotlib.pyplot as plt
import numpy as np

import margins

rng = np.random.default_rng(0)
direction = np.array([1.0, 1, 0, 0, 0]) / np.sqrt(2)
X = rng.normal(size=(400, 5))
y = X @ direction > 0
X += np.outer(np.where(y, 0.3, -0.3), direction)  # a gap of 0.6

offsets = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
hard = {"C": np.inf, "random_state": 0}
fits = {
    name: [margins.get(name)(**hard, max_iter=100_000).fit(X + offset, y) for offset in offsets]
    for name in ("pdm-succ", "mpu")
}
ratios = [
    (np.square(X + offset).sum(axis=1).max() + 1) / fit.certificates_[0].margin ** 2
    for offset, fit in zip(offsets, fits["mpu"], strict=True)
]

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, of_name in fits.items():
    ax.semilogy(offsets, [fit.n_updates_ for fit in of_name], "o-", label=f"updates of {name}")
ax.semilogy(offsets, ratios, "k:", label="R^2 / gamma^2")
ax.set(xlabel="offset of each feature", ylabel="number")
ax.legend()

# %%
# A free intercept does not depend on the offset.
for offset in (0.0, 3.0, 1000.0):
    free = margins.MarginClassifier(C=np.inf, penalize_intercept=False).fit(X + offset, y)
    print(f"offset {offset:g}: margin {free.certificates_[0].margin:.4f}, {free.n_iter_} epochs")
