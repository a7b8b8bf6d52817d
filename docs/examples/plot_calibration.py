"""
Probabilities
=============

The scores of a large-margin classifier are not probabilities. `CalibratedClassifierCV` turns them into
probabilities.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

import margins

X, y = make_classification(6000, n_features=20, n_informative=6, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for method in ("sigmoid", "isotonic"):
    model = CalibratedClassifierCV(margins.MarginClassifier(random_state=0), method=method)
    model.fit(X_train, y_train)
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=10, ax=ax, name=method)
