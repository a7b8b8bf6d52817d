# cython: language_level=3
"""Slacks: Python functions only; nothing here is called from other kernels."""
