# cython: language_level=3
"""Newton steps: Python functions only; nothing here is called from other kernels."""
