"""Conjugate steps, which only Python code calls: no other kernel uses anything here."""
