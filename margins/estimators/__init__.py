"""Scikit-learn's contract: what algorithms inherit, and the flagship."""
