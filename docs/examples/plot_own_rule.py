"""
A rule of your own
==================

An algorithm is a class that yields phases of rules. This one has a condition in Python, whose argument
names state what it needs: a margin that grows with the logarithm of the number of updates.
"""

import math

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import margins
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.plotting import CertificateDisplay
from margins.rules import Additive, NoShrink, Rules
from margins.solvers.base import Phase


class GrowingMargin(MaximumMarginClassifier):
    """Updates by samples whose product is at most R^2 log(1 + t)."""

    def phases(self, run):
        sqradius = run.sqradius

        def threshold(t):
            return sqradius * math.log(1 + t)

        yield Phase(Rules(threshold, Additive(), NoShrink()))


X, y = load_breast_cancer(return_X_y=True)
X = X / X.max(axis=0)
own = GrowingMargin(eps=0.1, C=1.0, max_iter=200, random_state=0).fit(X, y)
pdm = margins.get("pdm")(eps=0.1, C=1.0, random_state=0).fit(X, y)
print(own.converged_, own.certificates_[0])

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
CertificateDisplay.from_estimator(own, pdm, names=["own rule", "pdm"], ax=ax)
