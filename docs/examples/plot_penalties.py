"""
Coefficients under three penalties
==================================

The same path along C with the squared length, with l1, which makes most coefficients 0, and with signs:
no coefficient may be negative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import margins
from margins.plotting import CoefficientPathDisplay
from margins.regularisers import Bounded

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X / X.max(axis=0), 1 - y  # 1: malignant
Cs = np.logspace(-3, 2, 25)
penalties = {"penalty='l2'": "l2", "penalty='l1'": "l1", "penalty=Bounded(lower=0)": Bounded(lower=0)}

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, penalty) in zip(axes, penalties.items(), strict=True):
    path = margins.svm_path(X, y, Cs, penalty=penalty, eps=1e-3)
    CoefficientPathDisplay.from_path(path, n_shown=3, ax=ax)
    used = [int(np.count_nonzero(classifier.coef_)) for classifier in path.classifiers]
    ax.set_title(name)
    print(f"{name}: {used[0]} to {used[-1]} of 30 coefficients; {path}")
