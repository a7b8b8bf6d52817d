# cython: language_level=3
"""What solvers compute of the `Terms` of a regulariser: functions for Python alone."""
