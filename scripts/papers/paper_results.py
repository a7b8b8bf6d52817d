"""Our draws of the papers' figures: the JSON file that keeps them, and what they say of a figure.

The file holds one value of a cell for each draw, the seed being the place in the list. So it says which
draws are missing, and a run that was interrupted continues.

A paper reports one draw (a permutation of the samples, a random data set, a sequence of accesses). If it
were one more of n draws of ours, with mean m and standard deviation s, it would lie in

    m +- t_{n-1, 0.975} s sqrt(1 + 1/n)

with a probability of 95 %, were they normal. So of a hundred cells about five are apart even if all
is as in the paper. A figure between the smallest and the largest draw is within, too: accuracies of
small data sets are steps, and some draws all agree.
"""

import json
import math
import os
import statistics
from dataclasses import dataclass
from pathlib import Path

import reporting
from scipy.special import stdtrit

FILE = Path(__file__).parents[2] / "docs" / "papers.json"
DIGITS = 2  # of percentages
NOT_RUN, FEW_DRAWS, WITHIN, APART = "not run", "few draws", "within", "apart"
LEAST = 4  # draws: of fewer the interval holds almost anything


class Results:
    """The contents of the file, which need not exist.

    `blocks` maps "3: sonar" to the values of its cells and the seconds of its groups of columns, for
    every draw; `comparisons` maps "[2]: a9a" to the rows of that paper's tables; `readings` maps a table
    and a reading to the number of draws, of cells within, of cells, and their mean distance.
    """

    def __init__(self, path=FILE):
        self._path = Path(path)
        content = json.loads(self._path.read_text()) if self._path.exists() else {}
        self.blocks = content.get("blocks", {})
        self.comparisons = content.get("comparisons", {})
        self.readings = content.get("readings", {})

    def values(self, block, cell):
        """Return the value of a cell in every draw so far: list of float."""
        return self.blocks.get(block, {}).get("cells", {}).get(cell, [])

    def seconds(self, block, group):
        """Return the processor seconds of every draw of a group of columns: list of float."""
        return self.blocks.get(block, {}).get("seconds", {}).get(group, [])

    def add(self, block, group, values, seconds):
        """Add a draw: the values of its cells, and its processor seconds."""
        own = self.blocks.setdefault(block, {"cells": {}, "seconds": {}})
        for cell, value in values.items():
            own["cells"].setdefault(cell, []).append(round(value, DIGITS))
        own["seconds"].setdefault(group, []).append(round(seconds, 1))

    def save(self):
        """Write the file, whole or not at all."""
        content = {
            "environment": reporting.environment(),
            "blocks": dict(sorted(self.blocks.items())),
            "comparisons": dict(sorted(self.comparisons.items())),
            "readings": self.readings,
        }
        written = self._path.with_suffix(".tmp")
        written.write_text(compact(content) + "\n")
        os.replace(written, self._path)


def compact(value, indent=0):
    """Return JSON with a line for every list and every dict of scalars."""
    if isinstance(value, dict) and any(isinstance(item, dict | list) for item in value.values()):
        pad = " " * (indent + 1)
        lines = (
            f"{pad}{json.dumps(str(key))}: {compact(item, indent + 1)}" for key, item in value.items()
        )
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return json.dumps(value, allow_nan=False)


@dataclass(frozen=True)
class Verdict:
    """A figure and the values of our draws; `rounding` is half a unit of the figure's last digit."""

    paper: float
    values: list
    rounding: float

    @property
    def mean(self):
        return statistics.fmean(self.values) if self.values else None

    @property
    def spread(self):
        """Return the standard deviation of the draws; None of fewer than two."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def score(self):
        """Return (paper - mean) / spread; None if there is no spread."""
        return (self.paper - self.mean) / self.spread if self.spread else None

    @property
    def beyond(self):
        """Return the share of the draws at least as distant from the mean as the paper, or None."""
        if len(self.values) < 2:
            return None
        distance = max(abs(self.paper - self.mean) - self.rounding, 0)
        return statistics.fmean(abs(value - self.mean) >= distance for value in self.values)

    @property
    def half_width(self):
        """Return half the width of the interval that holds one more draw."""
        n = len(self.values)
        return float(stdtrit(n - 1, 0.975)) * self.spread * math.sqrt(1 + 1 / n) + self.rounding

    @property
    def word(self):
        """Return one of the four words."""
        if not self.values:
            return NOT_RUN
        if len(self.values) < LEAST:
            return FEW_DRAWS
        low, high = min(self.values) - self.rounding, max(self.values) + self.rounding
        inside = low <= self.paper <= high or abs(self.paper - self.mean) <= self.half_width
        return WITHIN if inside else APART


def together(verdicts):
    """Return one Verdict on the mean of cells that share their draws."""
    n_draws = min(len(verdict.values) for verdict in verdicts)
    values = [statistics.fmean(verdict.values[draw] for verdict in verdicts) for draw in range(n_draws)]
    return Verdict(statistics.fmean(verdict.paper for verdict in verdicts), values, verdicts[0].rounding)


def difference(verdicts):
    """Return the mean of ours - paper."""
    return statistics.fmean(verdict.mean - verdict.paper for verdict in verdicts)


def summary(verdicts):
    """Say how many cells are within, and how ours differ from the paper's: str."""
    judged = [verdict for verdict in verdicts if verdict.word in (WITHIN, APART)]
    few = [verdict for verdict in verdicts if verdict.word == FEW_DRAWS]
    missing = sum(verdict.word == NOT_RUN for verdict in verdicts)
    sentences = []
    if judged:
        within = sum(verdict.word == WITHIN for verdict in judged)
        sentences.append(
            f"Within: {within} of {len(judged)} cells ({100 * within / len(judged):.0f} %); "
            f"ours - paper is {difference(judged):+.2f} on average."
        )
    if few:
        sentences.append(f"Few draws: {len(few)}; ours - paper is {difference(few):+.2f} on average.")
    if missing:
        sentences.append(f"Not run: {missing}.")
    return " ".join(sentences)
