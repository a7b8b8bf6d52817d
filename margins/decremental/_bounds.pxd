# cython: language_level=3
"""Sums over samples: a Python function only."""
