# cython: language_level=3
"""Symmetric matrices in single precision: a Python function only."""
