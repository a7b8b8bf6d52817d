"""What partitions keep between passes, in the process where they are.

A process keeps the states of its partitions by the key of the fit and the number of the partition. None
is irreplaceable: a missing one is computed again.
"""

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field

import numpy as np

from margins.partitions.samples import Labels

# States of so many fits at most are kept by a process, for those that have ended without notice.
MAX_FITS = 8
# So many fits that have ended are known to have: their last tasks may still run, in other threads.
MAX_ENDED = 64


@dataclass
class Kept:
    """What a partition keeps."""

    labels: Labels | None = None
    folds: np.ndarray | None = None  # int, shape (m,)
    # dict: {(binary problem, version of its weight vector): PointState}
    states: dict = field(default_factory=dict)


class Store:
    """The partitions of a process."""

    def __init__(self):
        self._lock, self._fits, self._ended = threading.Lock(), OrderedDict(), deque(maxlen=MAX_ENDED)

    def of(self, key, index):
        """What partition `index` of a fit keeps: Kept."""
        with self._lock:
            if key in self._ended:
                return Kept()
            partitions = self._fits.setdefault(key, {})
            self._fits.move_to_end(key)
            while len(self._fits) > MAX_FITS:
                self._fits.popitem(last=False)
            return partitions.setdefault(index, Kept())

    def forget(self, key):
        """Forget the partitions of a fit, which has ended."""
        with self._lock:
            self._fits.pop(key, None)
            if key not in self._ended:  # workers in one process share it
                self._ended.append(key)

    def __len__(self):
        return len(self._fits)


STORE = Store()
