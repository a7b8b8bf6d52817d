"""Perceptron-like large-margin linear classifiers that prove how good they are.

>>> import margins
>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)
>>> classifier = margins.get("mpu")(C=1, eps=0.01).fit(X / X.max(axis=0), y)
>>> bool(classifier.certificates_[0].fraction >= 0.99)
True
"""

from typing import TYPE_CHECKING

from margins.registry import available, register

if TYPE_CHECKING:  # the same function, but the class of every built-in name is known
    from margins._built_ins import get
else:
    from margins.registry import get

__all__ = ["available", "get", "register"]
__version__ = "0.1.0"
