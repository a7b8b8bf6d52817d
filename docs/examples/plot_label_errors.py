"""
Label errors
============

Ten labels of the breast cancer data are flipped. A model that was trained with them has adapted to them.
The model without a sample has not seen its label and predicts it from the other samples. Therefore wrong
labels have the smallest leave-one-out margins.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import margins
from margins.plotting import InfluenceDisplay

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
flipped = np.sort(np.random.default_rng(0).choice(len(y), 10, replace=False))
y_flipped = y.copy()
y_flipped[flipped] = 1 - y[flipped]

# %%
# Choose the C with the smallest leave-one-out error, which is proven for every sample.
selection = margins.MarginClassifierCV(Cs=np.logspace(-3, 1, 9), cv="loo").fit(X, y_flipped)
result = selection.leave_one_out_[int(np.flatnonzero(selection.Cs_ == selection.C_)[0])]
print(f"C = {selection.C_:.3g}:", result)

# %%
# How many of the ten smallest margins belong to flipped labels?
suspects = np.argsort(result.margins)[:10]
print(len(np.intersect1d(suspects, flipped)), "of the 10 suspects have a flipped label")
InfluenceDisplay.from_result(result)
plt.show()
