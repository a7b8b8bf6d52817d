"""Many models trained in one pass: a Python class only."""
