"""Votes, which only Python code counts: no other kernel calls anything here."""
