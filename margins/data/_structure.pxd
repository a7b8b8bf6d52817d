# cython: language_level=3
"""The index arrays of compressed sparse matrices, in one pass: Python functions only."""
