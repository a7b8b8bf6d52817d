"""
Coefficients along C, and the C that cross-validation chooses
=============================================================

`svm_path` fits many values of C in little more time than one, each with its proof. `MarginClassifierCV`
does so in every fold and chooses C.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import margins
from margins.plotting import CoefficientPathDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X / X.max(axis=0)
Cs = np.logspace(-4, 3, 30)
path = margins.svm_path(X, y, Cs, eps=1e-3, random_state=0)
search = margins.MarginClassifierCV(Cs=Cs, cv=5, eps=1e-3, random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
CoefficientPathDisplay.from_path(path, n_shown=4, chosen=search.C_, ax=axes[0])
axes[1].plot(Cs, search.scores_.T, color="0.75", linewidth=0.8)
axes[1].plot(Cs, search.scores_.mean(axis=0), color="#0072B2", label="mean of 5 folds")
axes[1].axvline(search.C_, color="0.3", linestyle=":", label=f"C = {search.C_:.3g}")
axes[1].set(xscale="log", xlabel="C", ylabel="accuracy (share)", ylim=(0.85, 1))
axes[1].legend()

# %%
# All 30 fits are proven, and so are the 150 fits of the folds.
print(path)
gaps = [problem.certificate.gap for fold in search.fold_fits_ for [problem] in fold]
print(f"{len(gaps)} fits of folds, the largest relative duality gap {max(gaps):.2g}")
