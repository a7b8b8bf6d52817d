"""
What is proven, epoch by epoch
==============================

The primal and the dual bound of the margin close on the maximum, epoch by epoch, for the rules of three
papers and for the solvers of `MarginClassifier`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import margins
from margins.plotting import CertificateDisplay

X, y = load_breast_cancer(return_X_y=True)
X = X / X.max(axis=0)
fits = {
    name: margins.get(name)(C=1.0, eps=1e-3, random_state=0).fit(X, y) for name in ("pdm", "mpu", "mpcs")
}
fits["auto, conjugate"] = margins.MarginClassifier(
    C=1.0, eps=1e-3, solver="conjugate", random_state=0
).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, quantity in zip(axes, ("margin", "gap"), strict=True):
    CertificateDisplay.from_estimator(*fits.values(), names=list(fits), quantity=quantity, ax=ax)

# %%
# The numbers of updates differ by orders of magnitude, but all algorithms reach the same margin.
for name, fitted in fits.items():
    certificate = fitted.certificates_[0]
    reached = f"{certificate.margin:.5f} of at most {certificate.upper_bound:.5f}"
    print(f"{name:16} {reached}, {fitted.n_updates_} updates")
