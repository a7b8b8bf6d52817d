#!/usr/bin/env bash
# scikit-learn 1.9.1: the same class_weight is another problem in LinearSVC, SGDClassifier and Perceptron than in SVC.
#
# A class weight is documented as a factor of C of the class, and one would expect that weights of classes equal the
# same numbers as weights of their samples. With two classes they do everywhere. With three, SVC, LogisticRegression
# and RidgeClassifier agree to the last bit. LinearSVC, SGDClassifier and Perceptron, which train each class against
# the rest, use the weight of a class only in its own problem: in the others its samples count 1, so a mistake on a
# class of weight 3 among the rest costs no more than any other. Their sample_weight counts in all problems. Whoever
# replaces SVC by LinearSVC, or one argument by the other, gets other predictions without a word.
#
# Seen with Python 3.11 and 3.13: iris, weights 2, 1 and 3, by class_weight and by sample_weight:
#                      coefficients differ by   predictions that differ
#   SVC                                   0.0                         0
#   LogisticRegression                    0.0                         0
#   RidgeClassifier                       0.0                         0
#   LinearSVC                            0.18                         5
#   SGDClassifier                        0.29                        31
#   Perceptron                           0.49                       122
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-learn==1.9.1 numpy==2.4.1 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import sklearn
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC

X, y = load_iris(return_X_y=True)
weights = {0: 2, 1: 1, 2: 3}
of_samples = np.array([weights[label] for label in y])
classifiers = {
    "SVC": SVC(kernel="linear"),
    "LogisticRegression": LogisticRegression(max_iter=10_000),
    "RidgeClassifier": RidgeClassifier(),
    "LinearSVC": LinearSVC(dual=False, tol=1e-8),
    "SGDClassifier": SGDClassifier(random_state=0),
    "Perceptron": Perceptron(random_state=0),
}
print("scikit-learn", sklearn.__version__)
differences = {}
for name, classifier in classifiers.items():
    by_sample = sklearn.clone(classifier).fit(X, y, sample_weight=of_samples)
    by_class = classifier.set_params(class_weight=weights).fit(X, y)
    difference = np.abs(by_class.coef_ - by_sample.coef_).max() / np.abs(by_sample.coef_).max()
    n_other = int((by_class.predict(X) != by_sample.predict(X)).sum())
    differences[name] = difference
    print(f"{name:18}  coefficients differ by {difference:.2g}, predictions: {n_other}")
assert all(differences[name] < 1e-9 for name in ("SVC", "LogisticRegression", "RidgeClassifier"))
assert all(differences[name] > 0.1 for name in ("LinearSVC", "SGDClassifier", "Perceptron")), "mended"
# LinearSVC's problem of a class: the weight of that class, and 1 for the rest.
for k, row in enumerate(classifiers["LinearSVC"].coef_):
    own = LinearSVC(dual=False, tol=1e-8).fit(X, y == k, np.where(y == k, weights[k], 1))
    assert np.abs(own.coef_[0] - row).max() < 1e-6
PYTHON
