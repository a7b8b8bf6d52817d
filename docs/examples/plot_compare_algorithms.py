"""
Comparing algorithms honestly
=============================

Nested cross-validation chooses parameters within each training set, so that a test fold plays no part
in the choice. Differences are computed fold by fold: if an interval contains 0, no difference has been
shown.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.svm import LinearSVC

import margins
from margins.model_selection import compare, double_cross_validation
from margins.plotting import ComparisonDisplay

X, y = load_breast_cancer(return_X_y=True)
X = X / X.max(axis=0)
candidates = {
    "auto": (margins.MarginClassifier(random_state=0), {"C": [0.1, 1, 10]}),
    "pam": (margins.get("pam")(averaging="averaged", max_iter=20), {"tau": [0, 0.5, 2]}),
    "perceptron": (margins.get("perceptron")(max_iter=20), {"shuffle": ["once", "epochs"]}),
    "LinearSVC": (LinearSVC(), {"C": [0.1, 1, 10]}),
}
studies = {
    name: double_cross_validation(estimator, grid, X, y, outer=10, inner=5, random_state=0)
    for name, (estimator, grid) in candidates.items()
}
comparison = compare(studies)
print(comparison.summary())

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
ComparisonDisplay.from_studies(comparison, interval="corrected", ax=axes[0])
ComparisonDisplay.from_studies(comparison, kind="differences", interval="corrected", ax=axes[1])
