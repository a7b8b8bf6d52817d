"""Files that commands write, and which existing ones they may replace."""

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
    """What a command writes to a file."""

    why_not: str  # why a file that exists is not replaced
    is_in: Callable[[str], bool]  # True if a file evidently holds such contents


def check_replaceable(path, contents, inputs, force):
    """Raise CommandError, before any work, if a file cannot be written, or holds what must stay.

    Parameters
    ----------
    path : str
        "-" is standard output.
    contents : Contents
        An existing file of such contents is replaced.
    inputs : iterable of str
        Files that the command reads; none of them is replaced. "-" is standard input.
    force : bool
        True: any other existing file is replaced.
    """
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
    """What the system says of an ordinary file, through links: os.stat_result; None of anything else.

    "-" is the file that `stream` reads or writes.
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):  # no such file, or a stream of none
        status = os.fstat(stream.fileno()) if path == "-" else os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return status
    return None


def _begins(path, n_bytes):
    with open(path, "rb") as file:
        return file.read(n_bytes)


def _is_model(path):
    try:
        with zipfile.ZipFile(path) as file:
            return b'"margins.' in file.read("schema.json")
    except Exception:  # whatever a reader of zip files raises of other contents
        return False


MODEL = Contents("is not a model file", _is_model)
ONNX = Contents("is not an ONNX file of `export`", lambda path: b"skl2onnx" in _begins(path, 16))
STUDY = Contents("is not a study", lambda path: _begins(path, 9) == b'{"!Study"')
# Labels, one a line, may as well be those of a user.
PREDICTIONS = Contents("may hold something else than predictions", lambda path: False)
