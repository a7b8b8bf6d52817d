"""The store of a process: what its partitions keep between passes.

The states of partitions are stored by the key of the fit and the number of the partition. A missing
state is computed again.
"""

import os
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field

import numpy as np

from margins.data.validation import Labels

# A process keeps the states of at most MAX_FITS fits, in case it does not learn that a fit has ended.
MAX_FITS = 8
# It remembers this many ended fits, whose last tasks may still run in other threads.
MAX_ENDED = 64


@dataclass
class Kept:
    """The data that a partition keeps."""

    labels: Labels | None = None
    folds: np.ndarray | None = None  # int, shape (m,)
    # {(binary problem, version of its weight vector): PointState}
    states: dict = field(default_factory=dict)


class Store:
    """The partitions of a process."""

    def __init__(self):
        self.begin()

    def begin(self):
        """Forget everything."""
        self._lock, self._fits, self._ended = threading.Lock(), OrderedDict(), deque(maxlen=MAX_ENDED)

    def of(self, key, index):
        """Return the Kept of partition `index` of a fit."""
        with self._lock:
            if key in self._ended:
                return Kept()
            partitions = self._fits.setdefault(key, {})
            self._fits.move_to_end(key)
            while len(self._fits) > MAX_FITS:
                self._fits.popitem(last=False)
            return partitions.setdefault(index, Kept())

    def forget(self, key):
        """Forget the partitions of a fit that has ended."""
        with self._lock:
            self._fits.pop(key, None)
            if key not in self._ended:  # the workers of one process share the store
                self._ended.append(key)

    def __len__(self):
        return len(self._fits)


STORE = Store()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=STORE.begin)  # another thread may hold the lock
