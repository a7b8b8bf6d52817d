from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from margins._update import Averaging, BinaryData, Rules, WeightVector

class Level(NamedTuple):
    passes: int
    factor: float = ...
    supported: bool = ...
    updated: bool = ...

class ActiveSets:
    def __new__(cls, levels: Sequence[Level], n_samples: int) -> Self: ...
    @property
    def levels(self) -> tuple[Level, ...]: ...
    @property
    def n_accesses(self) -> int: ...
    @property
    def n_rejected(self) -> int: ...
    @property
    def n_unmoved(self) -> int: ...
    @property
    def kept(self) -> NDArray[np.int32]: ...
    def full_pass(
        self,
        data: BinaryData,
        a: WeightVector,
        rules: Rules,
        order: NDArray[np.int32],
        full_pass_rules: Rules | None = None,
        averaging: Averaging | None = None,
    ) -> int: ...
    def nested_passes(
        self,
        data: BinaryData,
        a: WeightVector,
        rules: Rules,
        averaging: Averaging | None = None,
        members: NDArray[np.int32] | None = None,
    ) -> None: ...
    def full_epoch(
        self,
        data: BinaryData,
        a: WeightVector,
        rules: Rules,
        order: NDArray[np.int32],
        full_pass_rules: Rules | None = None,
        averaging: Averaging | None = None,
    ) -> int: ...
