# cython: language_level=3
"""Ends of paths: nothing for other packages."""
