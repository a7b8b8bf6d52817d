"""Paths over near samples: Python classes only."""
