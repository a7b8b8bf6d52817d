#!/usr/bin/env bash
# nilearn 0.14.1: for two classes, coef_img_[name] of a Decoder is the map of weights towards the other class.
#
# coef_img_ is documented as coef_ with class names as keys, and one would expect positive weights where an image speaks
# for the class of that name. With three classes they are. With two, the same voxels get the opposite sign: coef_img_ of
# the first name is the vector whose positive scores mean the second, and the second name has the negated one. The
# tutorials plot coef_img_["face"] of faces against cats. Predictions are right, for they read coef_.
#
# Why, read from the public source: labels are coded -1 and 1 for the second class, which gives one problem, of index 0.
# Its weights are stored under classes_[0], those with the sign changed under the other name. FREMClassifier inherits it.
#
# Seen with Python 3.13: 4 voxels of 64 are brighter in images of "house"; their mean weight:
#   2 classes: scikit-learn's LinearSVC, towards house 0.3, Decoder's coef_img_["house"] -0.2
#   3 classes: scikit-learn's LinearSVC, towards house 0.4, Decoder's coef_img_["house"] 0.3
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nilearn==0.14.1 nibabel==5.4.2 scikit-learn==1.9.1 numpy==2.3.5 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import nibabel
import nilearn
import numpy as np
from nilearn.decoding import Decoder
from sklearn.svm import LinearSVC

print("nilearn", nilearn.__version__)
rng = np.random.default_rng(0)
mask = nibabel.Nifti1Image(np.ones((4, 4, 4), np.uint8), np.eye(4))
for n_classes in (2, 3):
    names = np.tile(["face", "house", "shoe"][:n_classes], 30)
    values = rng.normal(size=(4, 4, 4, len(names))).astype(np.float32)
    values[0, 0, :, names == "house"] += 2
    images = nibabel.Nifti1Image(values, np.eye(4))
    decoder = Decoder("svc", mask=mask, cv=3, screening_percentile=100, standardize="zscore_sample")
    decoder.fit(images, names)
    svc = LinearSVC().fit(decoder.masker_.transform(images), names == "house")
    expected = decoder.masker_.inverse_transform(svc.coef_[0]).get_fdata()[0, 0].mean()
    found = decoder.coef_img_["house"].get_fdata()[0, 0].mean()
    print(f"{n_classes} classes: scikit-learn's LinearSVC, towards house {expected:.1f}, ", end="")
    print(f'Decoder\'s coef_img_["house"] {found:.1f}')
    assert ((decoder.predict(images) == "house") == (names == "house")).mean() > 0.9
    assert expected > 0.1
    assert found < -0.1 if n_classes == 2 else found > 0.1, "this has changed"
PYTHON
