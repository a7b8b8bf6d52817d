"""scikit-learn's base classes, which have no types; `_typed.pyi` has what type checkers see.

There the base classes also carry the attributes that a fit leaves: in the body of a classifier their
annotations would declare parameters of the constructor.
"""

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

__all__ = ["BaseEstimator", "ClassifierMixin", "available_if"]
