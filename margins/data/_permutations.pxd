# cython: language_level=3
"""Permutations: a Python function only; nothing here is called from other kernels."""
