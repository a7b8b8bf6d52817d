# cython: language_level=3
"""Paths of solutions by pivots: nothing for other kernels."""
