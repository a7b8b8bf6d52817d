"""Write objects in skops' format without importing skops.

A file is a zip archive: ``schema.json``, a tree of nodes that say what each object is, and one ``.npy``
file for each array. `margins.persistence.load` and skops read it. Of the types that the format has, this
writes those of a fitted linear classifier: numbers, text, lists, tuples, dicts, arrays, and instances of
classes.
"""

import dataclasses
import io
import itertools
import json
import zipfile
from typing import Any, NamedTuple

import numpy as np

PROTOCOL = 2
SKOPS_VERSION = "0.16.0"  # whose files these are


class Instance(NamedTuple):
    """An instance of a class that is not imported.

    Attributes
    ----------
    module, name : str
    attributes : dict or None
        None: it has none.
    """

    module: str
    name: str
    attributes: dict[str, Any] | None


def written(value):
    """The contents of a file that holds a value: bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        tree = _Tree(archive)
        schema = {**tree.node(value), "protocol": PROTOCOL, "_skops_version": SKOPS_VERSION}
        archive.writestr("schema.json", json.dumps(schema))
    return file.getvalue()


class _Tree:
    """Makes the nodes of a schema, and writes arrays."""

    def __init__(self, archive):
        self._archive, self._ids = archive, itertools.count(1)

    def node(self, value):
        """The node of a value: dict."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return self._json(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, Instance):
            state = self._json(None) if value.attributes is None else self._dict(value.attributes)
            return self._node(value.module, value.name, "ObjectNode", content=state)
        kind = type(value)
        if isinstance(value, (list, tuple)):
            loader = "ListNode" if isinstance(value, list) else "TupleNode"
            contents = [self.node(each) for each in value]
            return self._node(kind.__module__, kind.__name__, loader, content=contents)
        if dataclasses.is_dataclass(value):
            return self._node(
                kind.__module__, kind.__name__, "ObjectNode", content=self._dict(vars(value))
            )
        raise TypeError(f"A model file has no {kind.__name__}.")

    def _node(self, module, name, loader, **content):
        return {
            "__class__": name,
            "__module__": module,
            "__loader__": loader,
            **content,
            "__id__": next(self._ids),
        }

    def _json(self, value):
        text = json.dumps(value)
        return self._node("builtins", "str", "JsonNode", content=text, is_json=True)

    def _dict(self, values):
        contents = {key: self.node(value) for key, value in values.items()}
        types = [self._node("builtins", "str", "TypeNode") for _ in values]
        keys = self._node("builtins", "list", "ListNode", content=types)
        return self._node("builtins", "dict", "DictNode", content=contents, key_types=keys)

    def _array(self, value):
        name = f"{next(self._ids)}.npy"
        with self._archive.open(name, "w") as file:
            np.lib.format.write_array(file, value, allow_pickle=False)
        return self._node("numpy", "ndarray", "NdArrayNode", type="numpy", file=name)
