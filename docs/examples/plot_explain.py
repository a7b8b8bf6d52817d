"""
Which solver runs, and why
==========================

`explain` lists the candidates with their predicted costs, in passes over the data, without training. The
pictures compare the prediction with the cost of a fit, for data with few and with many features.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification

import margins

rng = np.random.default_rng(0)
tall, y_tall = make_classification(20000, n_features=20, flip_y=0.1, random_state=0)
wide = sparse.random_array((1000, 20000), density=0.005, rng=rng, format="csr")
y_wide = np.where(wide @ rng.normal(size=20000) > 0, 1, -1)

print(margins.MarginClassifier(eps=1e-3).explain(tall, y_tall))
print()
print(margins.MarginClassifier(eps=1e-3).explain(wide, y_wide))

# %%
solvers = ("auto", "newton", "conjugate", "unlearning", "dcd")
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
problems = {
    "20,000 samples, 20 features": (tall, y_tall),
    "1,000 samples, 20,000 features": (wide, y_wide),
}
for ax, (title, (X, y)) in zip(axes, problems.items(), strict=True):
    seconds = []
    for solver in solvers:
        classifier = margins.MarginClassifier(eps=1e-3, solver=solver, random_state=0, max_time=10)
        begin = time.perf_counter()
        classifier.fit(X, y)
        seconds.append(time.perf_counter() - begin)
    ax.barh(solvers, seconds)
    ax.set_xlabel("seconds of a fit")
    ax.set_title(title)
