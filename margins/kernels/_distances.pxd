"""Squared distances between rows, without cancellation."""
