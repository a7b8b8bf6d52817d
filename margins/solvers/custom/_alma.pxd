# cython: language_level=3
"""ALMA's loop: a Python function only; nothing here is called from other kernels."""
