"""Callbacks of fits, with scikit-learn's protocol: progress bars, and early stopping.

``classifier.set_callbacks(ProgressBar())`` needs scikit-learn 1.9 or later.
"""

from margins.callbacks.early_stopping import EarlyStopping
from margins.callbacks.progress import ProgressBar

__all__ = ["EarlyStopping", "ProgressBar"]
