"""scikit-learn's base classes, without types; `_typed.pyi` adds them, and types of fitted attributes."""

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

__all__ = ["BaseEstimator", "ClassifierMixin", "available_if"]
