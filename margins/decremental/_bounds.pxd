# cython: language_level=3
"""Sums of proofs: nothing for other kernels."""
