#!/usr/bin/env bash
# scikit-learn 1.9.1: support_ of an SVC that was fitted with weights of 0 are not the rows of its training data.
#
# support_ is documented as the indices of the support vectors. With sample_weight, samples of weight 0 are removed
# before the fit, and support_ counts without them: X[support_] are other samples than support_vectors_. Nothing says
# so. gamma="scale", on the other hand, is of all samples.
#
# Seen with Python 3.13:
#   X[support_] equal support_vectors_: 15 of 49
#   X[sample_weight > 0][support_] equal support_vectors_: 49 of 49
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import sklearn
from sklearn.datasets import load_iris
from sklearn.svm import SVC

print("scikit-learn", sklearn.__version__)
X, y = load_iris(return_X_y=True)
weight = np.ones(len(y))
weight[60:80] = 0
model = SVC().fit(X, y, sample_weight=weight)
shares = []
for name, samples in (("X", X), ("X[sample_weight > 0]", X[weight > 0])):
    equal = (samples[model.support_] == model.support_vectors_).all(axis=1)
    print(f"{name}[support_] equal support_vectors_: {equal.sum()} of {len(equal)}")
    shares.append(equal.mean())
assert shares[0] < 1 and shares[1] == 1, "this has changed"
assert np.isclose(model._gamma, 1 / (X.shape[1] * X.var())), "this has changed"
PYTHON
