"""
A score that may only rise
==========================

A score for loans, tests or risks often must not fall when a feature improves. With lower bounds of 0 no
training data can teach it otherwise, and the price of the constraint is known.
"""

import matplotlib.pyplot as plt
import numpy as np

import margins
from margins.regularisers import Bounded

rng = np.random.default_rng(0)
names = ["income", "savings", "years employed", "payments in time", "age", "noise"]
X = rng.standard_normal((80, 6))
X[:, 1] += 2 * X[:, 0]  # savings follow income
y = np.where(X[:, 0] + 0.6 * X[:, 2] + X[:, 3] + 1.5 * rng.standard_normal(80) > 0, 1, -1)

free = margins.MarginClassifier(C=0.1, eps=1e-4).fit(X, y)
rising = margins.MarginClassifier(
    C=0.1, penalty=Bounded(lower=[0, 0, 0, 0, -np.inf, -np.inf]), eps=1e-4
).fit(X, y)
for name, model in (("free", free), ("rising", rising)):
    print(f"{name}: accuracy {model.score(X, y):.3f}, {model.certificates_[0]}")

figure, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
places = np.arange(6)
ax.bar(places - 0.2, free.coef_[0], 0.4, color="0.7", label="free")
ax.bar(places + 0.2, rising.coef_[0], 0.4, color="#0072B2", label="the first four at least 0")
ax.axhline(0, color="0.3", linewidth=0.8)
ax.set(xticks=places, xticklabels=names, ylabel="coefficient")
ax.legend()
