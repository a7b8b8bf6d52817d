# cython: language_level=3
"""Many models trained in one pass: a Python class only."""
