# cython: language_level=3
"""The subproblem of a working set: Python functions only."""
