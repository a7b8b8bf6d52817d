"""Model files in skops' format, which run no code when they are loaded.

Loading a pickle runs the code that it contains. A skops file is data: loading it only creates objects of
trusted types. Trusted are the types in skops' list (NumPy, SciPy, scikit-learn) and the classes of this
package. A loaded model is checked before any compiled loop reads it, and errors name the cause.

`dump` and `load` need skops: ``pip install skops``.
"""

from margins.persistence.files import dump, load

__all__ = ["dump", "load"]
