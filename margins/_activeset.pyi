from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from margins._update import Patterns, Readout, Rules, WeightVector

class Level(NamedTuple):
    passes: int
    factor: float = ...
    supported: bool = ...
    updated: bool = ...

class ActiveSets:
    def __new__(cls, levels: Sequence[Level], n_patterns: int) -> Self: ...
    @property
    def levels(self) -> tuple[Level, ...]: ...
    @property
    def n_visits(self) -> int: ...
    @property
    def n_refused(self) -> int: ...
    @property
    def n_unmoved(self) -> int: ...
    def full_epoch(
        self,
        patterns: Patterns,
        a: WeightVector,
        rules: Rules,
        order: NDArray[np.int32],
        full_pass_rules: Rules | None = None,
        readout: Readout | None = None,
    ) -> int: ...
