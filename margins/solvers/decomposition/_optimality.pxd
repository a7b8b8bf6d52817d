# cython: language_level=3
"""Optimality of dual variables, which only Python code computes."""
