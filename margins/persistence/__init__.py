"""Model files that run no code: skops' format, read and written with errors that name what is wrong.

A pickle is a program, which loading it runs. A file of skops is data: loading one makes objects of types
that are trusted, and nothing else. Here these are the types of skops' own list (NumPy, SciPy,
scikit-learn) and classes of this package. What was loaded is checked before any compiled loop reads it.

`dump` and `load` need skops: ``pip install 'scikit-margins[skops]'``.
"""

from margins.persistence.files import dump, load

__all__ = ["dump", "load"]
