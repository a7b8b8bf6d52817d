"""Conversion of records to JSON and back, which keeps every bit of every number."""

import base64
import dataclasses
import json
import math
import re
import types
import zlib
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from margins.model_selection.grids import plain

# Fields of folds and tables that contain seconds.
TIMES = ("fit_time", "score_time", "fit_times", "score_times")


class Name(str):
    """The name that replaces an object in a record because JSON cannot represent it."""

    __repr__ = str.__str__


def name_of(value):
    """Return a Name for an object, the same in every process."""
    if isinstance(value, Name):
        return value
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return Name(f"{value.__module__}.{value.__qualname__}")
    return Name(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)))


def encoded(value: Any) -> Any:
    """Return a value in a form that JSON can represent."""
    value = plain(value)
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"!float": repr(value)}
    if type(value) is list:
        return [encoded(item) for item in value]
    if type(value) is tuple:
        return {"!tuple": [encoded(item) for item in value]}
    if type(value) is dict:
        if all(type(key) is str and not key.startswith("!") for key in value):
            return {key: encoded(item) for key, item in value.items()}
        return {"!dict": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return {"!floats": encoded(value.tolist())}
    if isinstance(value, np.ndarray) and value.dtype == np.int64 and value.ndim == 1:
        # Rows are mostly in ascending order: their differences compress well.
        steps = np.diff(value, prepend=0).astype("<i8").tobytes()
        return {"!rows": base64.b64encode(zlib.compress(steps, 6)).decode()}
    if dataclasses.is_dataclass(value) and type(value) in RECORDS.values():
        fields = {item.name: encoded(getattr(value, item.name)) for item in dataclasses.fields(value)}
        return {f"!{type(value).__name__}": fields}
    return {"!name": str(name_of(value))}


def decoded(value):
    """Return the value from the result of `encoded`."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag, content = next(iter(value.items()), ("", None))
    if not tag.startswith("!"):
        return {key: decoded(item) for key, item in value.items()}
    if tag == "!float":
        return float(content)
    if tag == "!tuple":
        return tuple(map(decoded, content))
    if tag == "!dict":
        return {decoded(key): decoded(item) for key, item in content}
    if tag == "!floats":
        return np.array(decoded(content), dtype=np.float64)
    if tag == "!rows":
        steps = np.frombuffer(zlib.decompress(base64.b64decode(content)), dtype="<i8")
        return np.cumsum(steps, dtype=np.int64)
    if tag == "!name":
        return Name(content)
    return RECORDS[tag[1:]](**{key: decoded(item) for key, item in content.items()})


RECORDS: dict[str, type[Any]] = {}
T = TypeVar("T")


@dataclass_transform(eq_default=False, kw_only_default=True, frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Turn a class into a frozen dataclass that JSON can represent."""
    cls = dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)(cls)
    RECORDS[cls.__name__] = cls
    return cls


def to_text(value: Any) -> str:
    return json.dumps(encoded(value), allow_nan=False)


def from_text(text: str) -> Any:
    """Return the record in a text, which in version 0.2 had the reasons as `lockstep` and `path`."""
    content = json.loads(text)
    for fields in content.values():
        for name in ("lockstep", "path"):
            if name in fields:
                value = fields.pop(name)
                fields[f"{name}_reason"] = None if value is True else value
    return decoded(content)


def timeless(value: Any) -> Any:
    """Return an encoded record without its seconds."""
    if isinstance(value, list):
        return [timeless(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = value.items()
    if next(iter(value), "") in ("!Fold", "!Table"):
        ((tag, content),) = fields
        return {tag: {key: timeless(item) for key, item in content.items() if key not in TIMES}}
    return {key: timeless(item) for key, item in fields}
