#!/usr/bin/env bash
# scikit-learn 1.9.1: its reader of svmlight files returns 64-bit indices, which its own linear and kernel machines refuse.
#
# load_svmlight_file is how LIBSVM's and LIBLINEAR's data sets enter scikit-learn. In 1.8.0 a small file gives 32-bit
# indices and all classifiers fit. In 1.9.1 it gives 64-bit indices, and LinearSVC, SVC, SGDClassifier and
# LogisticRegression(solver="liblinear") raise a ValueError.
#
# Seen with Python 3.11 and 3.13:
#   scikit-learn 1.8.0  int32  ['fits', 'fits', 'fits', 'fits']
#   scikit-learn 1.9.1  int64  ['refuses', 'refuses', 'refuses', 'refuses']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
for version in 1.8.0 1.9.1; do
    "${PYTHON:-python3}" -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "scikit-learn==$version" numpy==2.4.1 scipy==1.17.1
    "$folder/$version/bin/python" - "$version" <<'PYTHON'
import io
import sys
import warnings

import sklearn
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC

warnings.simplefilter("ignore", FutureWarning)
X, y = load_svmlight_file(io.BytesIO(b"1 1:1 3:2\n1 2:1\n-1 1:-1\n-1 3:-2\n"))
answers = []
for classifier in (LinearSVC(), SVC(), SGDClassifier(), LogisticRegression(solver="liblinear")):
    try:
        classifier.fit(X, y)
        answers.append("fits")
    except ValueError as error:
        assert "64" in str(error), error
        answers.append("refuses")
print(f"scikit-learn {sklearn.__version__}  {X.indices.dtype}  {answers}")
expected = ("int32", "fits") if sys.argv[1] == "1.8.0" else ("int64", "refuses")
assert (str(X.indices.dtype), *set(answers)) == expected, "this has changed"
PYTHON
done
