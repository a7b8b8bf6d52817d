"""The version of the distribution, which pyproject.toml reads here."""

import time

__version__ = "0.3.0"
IMPORTED = time.time()  # of this package; files that are newer may not be what has been loaded
