"""Artificial data sets."""

from margins.datasets.generators import make_noisy_halfspace, make_noisy_ring, make_separable

__all__ = ["make_noisy_halfspace", "make_noisy_ring", "make_separable"]
