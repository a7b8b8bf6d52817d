"""What solvers compute of the `Terms` of a regulariser: functions for Python alone."""
