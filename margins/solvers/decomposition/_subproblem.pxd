# cython: language_level=3
"""The subproblem of a working set, which only Python code solves."""
