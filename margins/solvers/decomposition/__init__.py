"""Decomposition of kernel problems: subproblems of a working set, solved one after the other."""
