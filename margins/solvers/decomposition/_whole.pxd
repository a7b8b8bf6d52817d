# cython: language_level=3
"""The dual of few samples: a Python function only."""
