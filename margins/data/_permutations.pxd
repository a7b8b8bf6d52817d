# cython: language_level=3
"""Permutations: a Python function only; no C function is exported."""
