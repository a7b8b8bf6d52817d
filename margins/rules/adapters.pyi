"""Types of margins.rules.adapters."""

from margins.rules import Native, Python, condition, shrink, update

__all__ = ["Native", "Python", "condition", "shrink", "update"]
