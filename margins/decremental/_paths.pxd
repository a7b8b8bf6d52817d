# cython: language_level=3
"""Paths over near samples: Python classes only."""
