"""scikit-learn's base classes, which have no types; `_typed.pyi` adds types for type checkers.

Its base classes also have the fitted attributes: in the body of a classifier, annotating them would
declare parameters of the constructor.
"""

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

__all__ = ["BaseEstimator", "ClassifierMixin", "available_if"]
