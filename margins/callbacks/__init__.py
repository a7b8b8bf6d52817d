"""Callbacks of fits, by scikit-learn's protocol: a bar of progress, and an end by validation data.

``classifier.set_callbacks(ProgressBar())`` needs scikit-learn 1.9 or later.
"""

from margins.callbacks.early_stopping import EarlyStopping
from margins.callbacks.progress import ProgressBar

__all__ = ["EarlyStopping", "ProgressBar"]
