"""Artificial data sets."""

from margins.datasets.generators import make_noisy_halfspace

__all__ = ["make_noisy_halfspace"]
