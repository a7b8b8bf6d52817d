#!/usr/bin/env bash
# skglm 0.5: LinearSVC has fit_intercept=True by default, and fits no intercept.
#
# The default of LinearSVC is fit_intercept=True, and one would expect a fitted intercept, as in scikit-learn's class of
# this name. intercept_ is 0.0 and the coefficients equal those of fit_intercept=False to the last bit, without a
# warning. On the breast cancer data, columns divided by their maxima, SVC(kernel="linear") with the same C has 0.71 of
# the objective.
#
# Seen with Python 3.11:
#   LinearSVC()                     objective 105.23, intercept 0.00, accuracy 0.963
#   LinearSVC(fit_intercept=False)  objective 105.23, intercept 0.00, accuracy 0.963
#   scikit-learn's SVC              objective 74.40, intercept 9.33, accuracy 0.982
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet skglm==0.5 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from skglm import LinearSVC

warnings.simplefilter("error")
X, y = load_breast_cancer(return_X_y=True)
X /= X.max(axis=0)


def facts(model):
    scores = X @ np.ravel(model.coef_) + float(np.ravel(model.intercept_)[0])
    objective = (model.coef_**2).sum() / 2 + np.maximum(1 - (2 * y - 1) * scores, 0).sum()
    return objective, float(np.ravel(model.intercept_)[0]), ((scores > 0) == y).mean()


print("skglm", version("skglm"))
models = {
    "LinearSVC()": LinearSVC(),
    "LinearSVC(fit_intercept=False)": LinearSVC(fit_intercept=False),
    "scikit-learn's SVC": SVC(kernel="linear", tol=1e-6),
}
found = {}
for name, model in models.items():
    found[name] = facts(model.fit(X, y))
    print("{:31} objective {:.2f}, intercept {:.2f}, accuracy {:.3f}".format(name, *found[name]))
default, without, svc = models.values()
assert default.fit_intercept and default.intercept_ == 0, "this has changed"
assert np.array_equal(default.coef_, without.coef_), "this has changed"
assert found["LinearSVC()"][0] > 1.4 * found["scikit-learn's SVC"][0]
PYTHON
