"""Finished tasks on disk, so that an interrupted study can be resumed."""

import contextlib
import hashlib
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

ABANDONED = 3600  # seconds after which the writer of a temporary file is assumed to be gone


class Cache:
    """A folder, also of several processes, with a file for every finished task, named by its key."""

    # A file gets its name when it is complete, and starts with the checksum of the rest. So a crash, a
    # full disk or a power cut is noticed without fsync, and the task computed again.

    def __init__(self, folder, caller):
        try:
            self._folder = Path(folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(
                f"cache of {caller} must be a folder that can be written to, or None. Got {folder!r}: "
                f"{error}"
            ) from error
        self._caller, self._warned = caller, False
        for path in self._folder.glob("*/*.tmp"):  # of writers that were killed
            with contextlib.suppress(OSError):  # still written, or removed by another process
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()

    def _path(self, key):
        return self._folder / key[:2] / f"{key}.json"

    def get(self, key):
        """Return the content under a key; None if it is missing or incomplete."""
        try:
            checksum, _, text = self._path(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        if checksum != _checksum(key, text):
            return None
        return json.loads(text)

    def put(self, key, content):
        """Store content that JSON can hold under a key, atomically."""
        self._store(key, content, os.replace)

    def agree(self, key, content):
        """Return the content that all processes share under a key, set by the first of them."""
        stored = self.get(key)
        if stored is None:
            self._store(key, content, _linked)
            stored = self.get(key)
        if stored is None:  # another process was faster, but its file has been damaged since
            self._store(key, content, os.replace)
        return content if stored is None else stored

    def _store(self, key, content, name):
        """Write a new file, and name it with ``name(file, path)``."""
        path = self._path(key)
        text = json.dumps(content).encode()
        written = None
        try:
            path.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
                written = file.name
                file.write(_checksum(key, text) + b"\n" + text)
            name(written, path)
        except OSError as error:
            if written is not None:
                with contextlib.suppress(OSError):  # a later study removes it
                    os.unlink(written)
            if not self._warned:
                self._warned = True
                text = f"cache of {self._caller} could not be written to: {error}. The study continues, "
                text += "but results that cannot be written are not kept."
                warnings.warn(text, RuntimeWarning, stacklevel=2)


def _linked(written, path):
    """Give a file its name, unless the name belongs to a complete file of another process."""
    try:
        os.link(written, path)
    except FileExistsError:
        os.unlink(written)
    except OSError:  # a file system without hard links; then the last of two processes wins
        os.replace(written, path)
    else:
        os.unlink(written)


def _checksum(key, text):
    # The key is included, so that a file under another file's name is invalid too.
    return hashlib.blake2b(text, key=key.encode(), digest_size=16).hexdigest().encode()
