#!/usr/bin/env bash
# mlpack 4.8.0: linear_svm returns weights whose objective is larger than that of the zero vector.
#
# linear_svm minimises the mean hinge loss plus lambda/2 of all squared weights. The zero vector has the objective 1,
# whatever the samples. On the breast cancer data, columns divided by their maxima, the defaults end above it and
# predict one class for all samples; the optimum is 0.058. A smaller tolerance and more iterations change nothing, and
# nothing is printed.
#
# Why, read from the public source: the function that the optimiser calls replaces the matrix of margins by its 0/1 mask
# and sums that. So it sees the count of margin errors, with the gradient of the hinge loss, and stops at once.
#
# Seen with Python 3.11:
#   zero vector: objective 1.0000
#   LIBLINEAR's weights: objective 0.0584
#   mlpack {}: objective 1.1804, classes predicted [1]
#   mlpack {'tolerance': 1e-16, 'max_iterations': 1000000}: objective 1.1804, classes predicted [1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mlpack==4.8.0 numpy==2.4.6 scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import mlpack
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import LinearSVC

X, y = load_breast_cancer(return_X_y=True)
X, penalty = X / X.max(axis=0), 1e-4  # the default of lambda
size = X.shape[1] + 1


def objective(weights):
    """Of the weights of both classes, of shape (2, features + 1)."""
    scores = np.column_stack([X, np.ones(len(X))]) @ weights.T
    own, other = scores[np.arange(len(y)), y], scores[np.arange(len(y)), 1 - y]
    return np.maximum(1 + other - own, 0).mean() + penalty / 2 * (weights**2).sum()


def weights_of(model):
    """Both weight vectors follow their shape in the serialised model."""
    state = model.__getstate__()
    begin = state.index(np.array([size, 2], "<u8").tobytes()) + 24
    return np.frombuffer(state, "<f8", 2 * size, begin).reshape(2, size)


print("mlpack", version("mlpack"))
print(f"zero vector: objective {objective(np.zeros((2, size))):.4f}")
# The same problem for a difference of both weight vectors: C = 2 / (lambda n), the intercept penalised.
svc = LinearSVC(loss="hinge", C=2 / (penalty * len(y)), tol=1e-6, max_iter=10**6, random_state=0).fit(X, y)
half = np.append(svc.coef_[0], svc.intercept_) / 2
best = objective(np.array([-half, half]))
print(f"LIBLINEAR's weights: objective {best:.4f}")
for options in ({}, {"tolerance": 1e-16, "max_iterations": 1_000_000}):
    done = mlpack.linear_svm(training=X, labels=y, seed=1, **options)
    model = done["output_model"]
    predicted = np.ravel(mlpack.linear_svm(input_model=model, test=X)["predictions"])
    weights = weights_of(model)
    scores = np.column_stack([X, np.ones(len(X))]) @ weights.T
    assert (scores.argmax(axis=1) == predicted).all()  # these are the weights that it predicts by
    found = objective(weights)
    print(f"mlpack {options}: objective {found:.4f}, classes predicted {np.unique(predicted).tolist()}")
    assert found > 1 and best < 0.06, "this has changed"
PYTHON
