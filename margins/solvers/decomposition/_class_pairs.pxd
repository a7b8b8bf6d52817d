"""Pairs of classes over one kernel matrix, which only Python code solves."""
