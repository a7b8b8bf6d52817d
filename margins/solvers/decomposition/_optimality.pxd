# cython: language_level=3
"""Optimality of dual variables: Python functions only."""
