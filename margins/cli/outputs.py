"""The files that commands write, and the existing files that they may replace."""

import contextlib
import os
import stat
import sys
import zipfile
from collections.abc import Callable
from typing import NamedTuple

from margins.cli.errors import unreadable
from margins.cli.files import check_writable


class Contents(NamedTuple):
    """A kind of contents that a command writes to a file."""

    why_not: str  # the reason for not replacing an existing file
    is_in: Callable[[str], bool]  # True if a file evidently has such contents


def check_replaceable(path, contents, inputs, force):
    """Raise CommandError, before any work, if a file cannot be written or must not be replaced."""
    check_writable(path)
    output = _status(path, sys.stdout)
    if output is None:
        return
    for name in inputs:
        status = _status(name, sys.stdin)
        if status is not None and os.path.samestat(output, status):
            raise unreadable(f"{path}: cannot be written: it is the input {name}. Give another name.")
    if path != "-" and output.st_size and not force and not contents.is_in(path):
        raise unreadable(
            f"{path}: exists, and {contents.why_not}. Give another name, or --force to overwrite it."
        )


def _status(path, stream):
    """Return the os.stat_result of a regular file, following links; None for anything else.

    "-" is the file that `stream` reads or writes.
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):  # no file, or a stream without one
        status = os.fstat(stream.fileno()) if path == "-" else os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return status
    return None


def _first_bytes(path, n_bytes):
    with open(path, "rb") as file:
        return file.read(n_bytes)


def _is_model(path):
    try:
        with zipfile.ZipFile(path) as file:
            return b'"margins.' in file.read("schema.json")
    except Exception:  # zipfile raises many types for other contents
        return False


MODEL = Contents("is not a model file", _is_model)
ONNX = Contents("is not an ONNX file of `export`", lambda path: b"skl2onnx" in _first_bytes(path, 16))
STUDY = Contents("is not a study", lambda path: _first_bytes(path, 9) == b'{"!Study"')
# Labels, one per line, could be any text of the user.
PREDICTIONS = Contents("may not be a file of predictions", lambda path: False)
