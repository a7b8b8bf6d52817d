# cython: language_level=3
"""Extrapolation: Python functions only; nothing here is called from other kernels."""
