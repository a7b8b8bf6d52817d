"""Sums over samples: a Python function only."""
