#!/usr/bin/env bash
# skl2onnx 1.20.0: in ONNX, OneVsRestClassifier(SVC()) predicts the class with the smallest score.
#
# SVC itself and OneVsRestClassifier(LinearSVC()) with three classes are converted rightly; of this combination no label
# of the training samples is right. With two classes the scores are compared with 1/2 instead of 0, so LinearSVC has
# wrong labels, too. The option raw_scores mends SVC, and makes all labels of LinearSVC with two classes wrong. No error
# is raised, and onnx's own evaluator returns the same labels.
#
# Why, read from the public source: of two columns that the graph of each classifier has, the converter takes the second
# one, and with two classes puts 1 minus it beside it. That fits probabilities. Without them, an SVC is written with its
# coefficients negated: its labels are right, and its second column is the negated score. raw_scores negates that again,
# and gives LinearSVC two columns where the converter expects one.
#
# Seen with Python 3.11 and 3.13, labels that are as predicted by scikit-learn:
#   3 classes, SVC: 0 of 150, the class of the smallest score: 150; with raw_scores 150
#   3 classes, LinearSVC: 150 of 150, the class of the smallest score: 0
#   2 classes, SVC: 8 of 569; with raw_scores 569
#   2 classes, LinearSVC: 557 of 569; with raw_scores 0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0 \
    scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import onnxruntime
import skl2onnx
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

warnings.simplefilter("ignore", FutureWarning)  # of attributes of SVC that the converter reads
onnxruntime.set_default_logger_severity(3)
print("skl2onnx", skl2onnx.__version__, "ONNX Runtime", onnxruntime.__version__)


def labels_of(model, X, **options):
    graph = skl2onnx.to_onnx(model, X[:1], options={id(model): {"zipmap": False} | options})
    labels = onnxruntime.InferenceSession(graph.SerializeToString()).run(["label"], {"X": X})[0]
    assert (labels == ReferenceEvaluator(graph).run(["label"], {"X": X})[0]).all()
    return labels


for load, expected in ((load_iris, ((0, 150), (150, None))), (load_breast_cancer, ((8, 569), (557, 0)))):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    for classifier, (number, number_raw) in zip((SVC(), LinearSVC()), expected):
        model = OneVsRestClassifier(classifier).fit(X, y)
        predicted, scores, labels = model.predict(X), model.decision_function(X), labels_of(model, X)
        equal = (labels == predicted).sum()
        print(f"{len(model.classes_)} classes, {type(classifier).__name__}: {equal} of {len(X)}", end="")
        if scores.ndim == 2:
            smallest = (labels == scores.argmin(axis=1)).sum()
            print(f", the class of the smallest score: {smallest}", end="")
            assert smallest == len(X) - number, "this has changed"
        assert abs(equal - number) <= 3, "this has changed"
        if number_raw is not None:
            equal = (labels_of(model, X, raw_scores=True) == predicted).sum()
            print(f"; with raw_scores {equal}", end="")
            assert equal == number_raw, "this has changed"
        print()
PYTHON
