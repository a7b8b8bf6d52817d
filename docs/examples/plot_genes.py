"""
Which of 2,000 genes
====================

With l1 a classifier chooses its features, and the certificate says how far its objective is from the
optimum: on 62 simulated tissues with 2,000 genes, of which ten differ between the classes.
"""

import matplotlib.pyplot as plt
import numpy as np

import margins

rng = np.random.default_rng(0)
y = np.repeat(["normal", "tumour"], [22, 40])
pathways = rng.standard_normal((62, 200))
X = 0.6 * np.repeat(pathways, 10, axis=1) + 0.8 * rng.standard_normal((62, 2000))
X[:, :100:10] += 2 * (y == "tumour")[:, None]

search = margins.MarginClassifierCV(Cs=np.logspace(-2, 1, 10), penalty="l1", eps=1e-3).fit(X, y)
chosen = np.flatnonzero(search.coef_)
(certificate,) = search.estimator_.certificates_
n_right = np.isin(chosen, range(0, 100, 10)).sum()
print(f"C = {search.C_:.3g}: {len(chosen)} genes, of which {n_right} of the ten")
print(certificate)

# %%
# The elastic net keeps more of the genes that follow each other.
net = margins.MarginClassifier(C=search.C_, penalty="elasticnet", l1_ratio=0.5, eps=1e-3).fit(X, y)
figure, axes = plt.subplots(2, 1, figsize=(9, 4.5), sharex=True, layout="constrained")
for ax, model, name in zip(axes, (search, net), ("l1", "elastic net, l1_ratio=0.5"), strict=True):
    used = np.flatnonzero(model.coef_)
    ax.vlines(used, 0, model.coef_[0, used], color="#0072B2")
    ax.set(ylabel="coefficient", title=f"{name}: {len(used)} genes")
axes[1].set_xlabel("gene; the ten that differ are 0, 10, ..., 90")
