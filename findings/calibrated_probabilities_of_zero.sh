#!/usr/bin/env bash
# sklearn2pmml 0.133.1 with jpmml_evaluator 0.16.0: every probability of a calibrated LinearSVC is 0, its labels are right.
#
# CalibratedClassifierCV has a copy of the classifier for each fold by default, and averages their probabilities. In
# PMML that is an average of model chains, and each outermost field with feature="probability" is 0 for each class and
# sample, although labels are those of the largest probability. No error is raised and no value is missing, so a
# threshold of a probability rejects everything. With ensemble=False (one chain, no average), and of bags of logistic
# regressions (an average, no chains), the same programs give scikit-learn's probabilities.
#
# Seen with Python 3.11 and 3.13 and Java 17, of 150 samples of iris (3 classes), 569 of breast cancer (2 classes):
#   iris, 5 folds: labels 150, all probabilities 0: 150
#   iris, ensemble=False: labels 150, all probabilities 0: 0, largest difference below 1e-9
#   iris, bag of logistic regressions: labels 150, all probabilities 0: 0, largest difference below 1e-9
#   breast cancer, 5 folds: labels 569, all probabilities 0: 569
set -euo pipefail
command -v java >/dev/null || { echo "needs Java (seen with 17)" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sklearn2pmml==0.133.1 jpmml_evaluator==0.16.0 jpype1==1.7.1 py4j==0.10.9.9 \
    scikit-learn==1.7.2 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3
cd -- "$folder"
venv/bin/python - <<'PYTHON' >log 2>&1 || { cat log >&2; exit 1; }  # Java writes to both
import numpy as np
from jpmml_evaluator import make_evaluator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn2pmml import sklearn2pmml
from sklearn2pmml.pipeline import PMMLPipeline

bag = BaggingClassifier(LogisticRegression(max_iter=1000), n_estimators=5, random_state=0)
CASES = [
    ("iris, 5 folds", load_iris, CalibratedClassifierCV(LinearSVC(random_state=0))),
    ("iris, ensemble=False", load_iris, CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False)),
    ("iris, bag of logistic regressions", load_iris, bag),
    ("breast cancer, 5 folds", load_breast_cancer, CalibratedClassifierCV(LinearSVC(random_state=0))),
]
results = open("results", "w")
for name, load, model in CASES:
    X, y = load(return_X_y=True, as_frame=True)
    pipeline = PMMLPipeline([("classifier", model)]).fit(X, y)
    sklearn2pmml(pipeline, "model.pmml")
    table = make_evaluator("model.pmml").verify().evaluateAll(X)
    n_right = int((table[y.name].to_numpy() == model.predict(X)).sum())
    found = table[[f"probability({label})" for label in model.classes_]].to_numpy(float)
    n_zero = int((found == 0).all(axis=1).sum())
    print(f"{name}: labels {n_right}, all probabilities 0: {n_zero}", end="", file=results)
    assert n_right == len(X), "this has changed"
    if "5 folds" in name:
        assert n_zero == len(X), "this has changed"
    else:
        difference = np.abs(found - model.predict_proba(X)).max()
        assert n_zero == 0 and difference < 1e-9, "this has changed"
        print(", largest difference below 1e-9", end="", file=results)
    print(file=results)
PYTHON
cat results
