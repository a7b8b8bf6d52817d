# cython: language_level=3
"""Losses at multiples of a weight vector: nothing for other kernels."""
