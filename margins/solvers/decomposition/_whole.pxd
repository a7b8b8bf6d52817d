# cython: language_level=3
"""The dual of few samples, which only Python code solves."""
