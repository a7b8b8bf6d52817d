# cython: language_level=3
"""Votes: Python functions only; nothing here is called from other kernels."""
