"""The version of the distribution, which pyproject.toml reads here."""

__version__ = "0.3.0"
