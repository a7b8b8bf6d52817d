# cython: language_level=3
"""Conjugate steps: Python functions only; nothing here is called from other kernels."""
