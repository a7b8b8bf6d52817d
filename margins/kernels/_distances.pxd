# cython: language_level=3
"""Squared distances between rows, without cancellation."""
