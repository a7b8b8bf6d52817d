"""What was measured for the papers' tables: one JSON file, to which finished draws are added.

A block is a table and a data set; its cells hold one value for each draw, the seed being the place
in the list. So a file says which draws are missing, and a run that was interrupted continues.
"""

import json
import os
from pathlib import Path

import reporting

FILE = Path(__file__).parents[2] / "docs" / "papers.json"
DIGITS = 2  # of percentages


class Results:
    """The contents of the file.

    Parameters
    ----------
    path : path-like
        Need not exist.

    Attributes
    ----------
    blocks : dict of dict
        "3: sonar" to {"cells": {cell: [value of every draw]}, "seconds": {group: [of every draw]}}.
    comparisons : dict of list
        Of the papers on maximum margins: "[2]: a9a" to the rows of their tables.
    readings : dict of dict
        Table to reading to [draws, cells within, cells, mean distance].
    """

    def __init__(self, path=FILE):
        self._path = Path(path)
        content = json.loads(self._path.read_text()) if self._path.exists() else {}
        self.blocks = content.get("blocks", {})
        self.comparisons = content.get("comparisons", {})
        self.readings = content.get("readings", {})

    def values(self, block, cell):
        """Of every draw so far: list of float."""
        return self.blocks.get(block, {}).get("cells", {}).get(cell, [])

    def seconds(self, block, group):
        """Processor seconds of every draw of a group of columns: list of float."""
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
    """JSON with a line for every list and every dict of scalars: str."""
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        pad = " " * (indent + 1)
        lines = (
            f"{pad}{json.dumps(str(key))}: {compact(each, indent + 1)}" for key, each in value.items()
        )
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return json.dumps(value, allow_nan=False)
