#!/usr/bin/env bash
# scikit-learn 1.9.1: calibrated probabilities depend on the unit of the scores.
#
# Platt's sigmoid and a temperature both fit a factor of the scores, so scores in another unit should get the same
# probabilities. They do not. The sigmoid of scores around 1e-8 is the constant 0.5, and so is a temperature of
# scores around 1e-6; a temperature turns scores around 1e6 into certainties, most of the wrong ones included. No
# warning is given. A linear SVM has scores that small if C |x|^2 is small: LinearSVC(loss="hinge", C=1e-10) on the
# standardised breast cancer data has scores up to 2.6e-6 and an AUC of 0.98, and a temperature gives all of them
# probabilities between 0.47 and 0.51.
#
# Why: L-BFGS-B compares a gradient, which has the unit of the scores, with an absolute tolerance; the logarithm of
# the inverse temperature is searched between -10 and 10.
#
# Seen with Python 3.11 and 3.13, log loss (lower is better; 0.6931 is a coin):
#   unit      sigmoid  temperature
#   1e-08     0.6931   0.6930
#   1e-06     0.4427   0.6796
#   1         0.4427   0.4429
#   1e+06     0.4427   5.1690
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-learn==1.9.1 numpy==2.4.1 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its only feature, in a unit."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0] * self.unit

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


warnings.simplefilter("error")
generator = np.random.default_rng(0)
X = generator.normal(size=(2000, 1))
y = (generator.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
print("scikit-learn", sklearn.__version__)
print("unit      sigmoid  temperature")
losses = {}
for unit in (1e-8, 1e-6, 1.0, 1e6):
    for method in ("sigmoid", "temperature"):
        model = CalibratedClassifierCV(Scores(unit), method=method, ensemble=False, cv=3).fit(X, y)
        losses[unit, method] = log_loss(y, model.predict_proba(X))
    print(f"{unit:<9g} {losses[unit, 'sigmoid']:.4f}   {losses[unit, 'temperature']:.4f}")
assert losses[1.0, "sigmoid"] < 0.45 and losses[1.0, "temperature"] < 0.45
assert losses[1e-8, "sigmoid"] > 0.69 and losses[1e-6, "temperature"] > 0.67, "small units: mended"
assert losses[1e6, "temperature"] > 1, "large units: mended"
PYTHON
