# cython: language_level=3
"""The second-order perceptron's loop: a Python function only; nothing here is called from other kernels."""
