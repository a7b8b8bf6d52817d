"""The subproblem of a working set, which only Python code solves."""
