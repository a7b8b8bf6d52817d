"""Positions of a parameter's values on an axis: logarithmic, with a gap before inactive values."""

import math
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

GAP = 1.6  # distance of the inactive value, in units of the typical distance of the other values


class Places:
    """Positions of a parameter's values on an axis.

    Positive numbers are placed at their logarithms; 0 is placed before and inf after them, with a gap.
    Other values (names, negative numbers) have equal distances.
    """

    def __init__(self, name: str, values: Iterable[Any]) -> None:
        self.name = name
        self.values = list({repr(value): value for value in values}.values())  # dicts have no hash
        self.inactive = [False] * len(self.values)
        self.numeric = all(isinstance(item, Real) and not isinstance(item, bool) for item in self.values)
        if self.numeric:
            self.values.sort()
            self.inactive = [number == 0 or number == math.inf for number in self.values]
        active = [number for number, off in zip(self.values, self.inactive, strict=True) if not off]
        if not self.numeric or not active or min(active) < 0:
            self.places = np.arange(len(self.values), dtype=float)
            return
        logs = np.log2(np.array(active, dtype=float))
        step = GAP * (float(np.median(np.diff(logs))) if len(logs) > 1 else 1.0)
        places = dict(zip(active, logs, strict=True))
        places |= {0: logs[0] - step, math.inf: logs[-1] + step}
        self.places = np.array([places[number] for number in self.values])

    def label(self, index: int) -> str:
        """Return the text of a tick."""
        value = self.values[index]
        text = f"{value:g}" if self.numeric else str(value)
        text = "∞" if text == "inf" else text
        return f"{text}\n(off)" if self.inactive[index] else text

    def runs(self) -> list[slice]:
        """Return the ranges of values that a line connects; every inactive value is a separate range."""
        active = [index for index, off in enumerate(self.inactive) if not off]
        single = [slice(index, index + 1) for index, off in enumerate(self.inactive) if off]
        return single + ([slice(active[0], active[-1] + 1)] if active else [])

    def borders(self) -> list[float]:
        """Return the positions of the gaps."""
        pairs = zip(self.inactive, self.inactive[1:], self.places, self.places[1:], strict=False)
        return [(left + right) / 2 for off, next_off, left, right in pairs if off != next_off]

    def draw(self, axis: Any, line: Callable[..., Any], places: NDArray[np.int64] | None = None) -> None:
        """Set ticks and labels of an axis, and draw dotted lines (by `line`) through the gaps."""
        axis.set_ticks(self.places if places is None else places)
        axis.set_ticklabels([self.label(index) for index in range(len(self.values))])
        axis.set_tick_params(which="minor", length=0)
        axis.set_label_text(self.name)
        for place in self.borders() if places is None else _between(self.inactive):
            line(place, color="0.4", linewidth=0.9, linestyle=":")


def _between(inactive: list[bool]) -> list[float]:
    """Return the borders between active and inactive values at the positions 0, 1, 2, ..."""
    pairs = enumerate(zip(inactive, inactive[1:], strict=False))
    return [index + 0.5 for index, (off, next_off) in pairs if off != next_off]
