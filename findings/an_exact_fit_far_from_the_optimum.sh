#!/usr/bin/env bash
# TorchKM 4.3.2: a fit that is called exact and provably optimal ends at 3.6 times the optimum, without a warning.
#
# "Exact, not approximate. TorchKM returns the provably lowest-objective kernel-SVM solution", says its README. On the
# standardised breast cancer data, the objective of its default fit is above that of scikit-learn's SVC with the same
# kernel and C, the more so the larger C is; 1000 is the largest value of its default grid. A hundred times as many
# iterations help in part. Warnings are errors below: none comes.
#
# Why, read from the public source: a fit ends when the sum of squared derivatives of the mean loss is below 1e-3, for any
# C, and the last step is small. With more than 1,000 samples the zero vector passes the first test: its sum is 1/n.
#
# Seen with Python 3.11: objective of TorchKM over that of SVC:
#   C = 1, max_iter 1000: 1.01
#   C = 100, max_iter 1000: 1.12
#   C = 1000, max_iter 1000: 3.55
#   C = 1000, max_iter 100000: 1.33
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torchkm==4.3.2 torch==2.13.0 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torchkm.estimators import TorchKMSVC

warnings.simplefilter("error")
X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X), 2 * y - 1
gamma = 1 / X.shape[1]
K = rbf_kernel(X, gamma=gamma)


def objective(alpha, intercept, C):
    return alpha @ K @ alpha / 2 + C * np.maximum(1 - y * (K @ alpha + intercept), 0).sum()


print("TorchKM", version("torchkm"))
ratios = []
for C, max_iter in ((1, 1000), (100, 1000), (1000, 1000), (1000, 100_000)):
    # Its kernel is exp(-2 rbf_sigma |x - z|^2).
    model = TorchKMSVC(Cs=[C], rbf_sigma=gamma / 2, max_iter=max_iter, random_state=0, device="cpu").fit(X, y)
    svc = SVC(C=C, gamma=gamma, tol=1e-6).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = svc.dual_coef_[0]
    found = objective(np.ravel(model.alpha_), np.ravel(model.intercept_)[0], C)
    ratios.append(found / objective(alpha, svc.intercept_[0], C))
    print(f"C = {C}, max_iter {max_iter}: {ratios[-1]:.2f}")
assert ratios[0] < 1.02, "another problem than SVC's"
assert ratios[1] > 1.05 and ratios[2] > 3 and ratios[3] > 1.2, "this has changed"
PYTHON
