"""A small study, which tests cut off, resume, and share between processes."""

from sklearn.datasets import load_breast_cancer

import margins
from margins.model_selection import double_cross_validation

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:150] / X.max(axis=0), y[:150]
GRID = {"tau": [0, 0.5, 1], "alpha_bound": [5, 10]}
N_TASKS = 4 * 3 * 6 + 4  # no chunk of settings has two, for there are few fits


def study_of(estimator=None, X=X, y=y, grid=GRID, **options):
    estimator = estimator or margins.get("pam")(max_iter=10, kernel="rbf", gamma=0.5)
    options = {"outer": 4, "inner": 3, "random_state": 0, "progress": False} | options
    return double_cross_validation(estimator, grid, X, y, **options)
