# cython: language_level=3
"""Newton steps, which only Python code calls: no other kernel uses anything here."""
