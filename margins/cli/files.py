"""Files: reading compressed ones, writing a complete file or none, and what may be overwritten."""

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Callable
from typing import NamedTuple

from margins.cli.errors import accessing, unreadable

# The first lines of models of LIBLINEAR and LIBSVM.
TEXT_MODEL = re.compile(rb"solver_type \w+\r?\nnr_class \d|svm_type \w+\r?\nkernel_type \w")
# The first bytes of compressed files, regardless of their names, and the module that reads each.
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}


def contents_of(path):
    """Return the bytes in a file, decompressed; "-" is standard input."""
    with accessing(path, "read"):
        if path == "-":
            if sys.stdin is None:
                raise unreadable("standard input: is closed")
            contents = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                contents = file.read()
    for first_bytes, name in COMPRESSED.items():
        if contents.startswith(first_bytes):
            return _decompressed(contents, path, name)
    return contents


def _decompressed(contents, path, name):
    module = __import__(name)  # here, because each import takes some milliseconds
    try:
        return module.decompress(contents)
    except (OSError, EOFError, ValueError, getattr(module, "LZMAError", OSError)) as error:
        raise unreadable(f"{path}: is damaged: {error}") from error
    except Exception as error:  # zlib.error has no base class in common with these
        if type(error).__module__ != "zlib":
            raise
        raise unreadable(f"{path}: is damaged: {error}") from error


def check_output():
    """Raise CommandError, before any work, if results cannot be printed."""
    if sys.stdout is None:
        raise unreadable("standard output: is closed")
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream without a file
        return
    with accessing("standard output", "written"):
        os.write(descriptor, b"")


def check_writable(path):
    """Raise CommandError, before any work, if a file cannot be written; "-" is standard output."""
    if path == "-":
        check_output()
        return
    target = os.path.realpath(path)
    folder = os.path.dirname(target) or "."
    if os.path.isdir(path):
        raise unreadable(f"{path}: cannot be written: it is a folder")
    if not os.path.isdir(folder):
        raise unreadable(f"{path}: cannot be written: there is no folder {folder}")
    with accessing(path, "written"):
        with contextlib.suppress(FileNotFoundError):
            os.lstat(target)  # raises if the name is too long, which os.path.exists hides
        mode = _mode(path)
        if mode is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if mode is None or stat.S_ISREG(mode):
            with _temporary(target, 0o600):
                pass  # permissions alone do not show that a file can be created


def _mode(path):
    """Return the mode of the file that a path names, following links; None if there is no file."""
    return os.stat(path).st_mode if os.path.exists(path) else None


def write_whole(path, contents):
    """Write bytes to a file, which has its old contents or the new ones; "-" is standard output."""
    if path == "-":
        sys.stdout.buffer.write(contents)
        sys.stdout.buffer.flush()
        return
    target = os.path.realpath(path)  # keep a link, and replace the file that it names
    with accessing(path, "written"):
        mode = _mode(path)
        if mode is not None and not stat.S_ISREG(mode):
            # Not by its real path: for a pipe, as /dev/stdout can be, it does not exist.
            with open(path, "wb") as file:
                file.write(contents)
            return
        permissions = _permissions(mode)
        with _temporary(target, permissions) as (file, temporary):
            with file:
                file.write(contents)
            os.chmod(temporary, permissions)
            os.replace(temporary, target)


def _permissions(mode):
    """Return the permissions of the file to replace, or of a new file of this process."""
    if mode is not None:
        return stat.S_IMODE(mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def _temporary(target, permissions):
    """Return a context with a new file in the folder of `target`, removed at the end, and its path."""
    # Without the name of `target`, which may have the maximum length.
    temporary = os.path.join(os.path.dirname(target), f".{os.urandom(6).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, permissions), "wb") as file:
            yield file, temporary
    finally:  # also after Ctrl-C
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


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
    """Return the os.stat_result of a regular file; "-": of the file behind `stream`; else None."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # no file, or a stream without one
        status = os.fstat(stream.fileno()) if path == "-" else os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return status
    return None


def _first_bytes(path, n=16):
    with open(path, "rb") as file:
        return file.read(n)


def _is_model(path):
    if TEXT_MODEL.match(_first_bytes(path, 80)):
        return True
    import zipfile

    try:
        with zipfile.ZipFile(path) as file:
            return b'"margins.' in file.read("schema.json")
    except Exception:  # zipfile raises many types for other contents
        return False


MODEL = Contents("is not a model file", _is_model)
ONNX = Contents("is not an ONNX file of `export`", lambda path: b"skl2onnx" in _first_bytes(path))
C_SOURCE = Contents(
    "is not a C file of `export`", lambda path: _first_bytes(path) == b"/* Model of marg"
)
STUDY = Contents("is not a study", lambda path: _first_bytes(path).startswith(b'{"!Study"'))


def predictions_of(labels):
    """Return the Contents of a file of predictions: lines of one of these labels and of its scores."""
    allowed = {label.encode() for label in labels}

    def is_in(path):
        with open(path, "rb") as file:
            lines = list(map(bytes.split, set(file)))  # without scores few lines differ
        are_labels = all(words and words[0] in allowed for words in lines)
        return are_labels and not any(b":" in word for words in lines for word in words[1:])

    return Contents("is not a file of predictions with labels of the model", is_in)
