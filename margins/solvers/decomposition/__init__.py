"""Decomposition of kernel problems: subproblems of working sets, solved in turn."""
