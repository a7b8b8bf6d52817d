"""Finished tasks on disk: a study that was interrupted is resumed."""

import contextlib
import hashlib
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

ABANDONED = 3600  # seconds after which a temporary file is taken for one without a writer


class Cache:
    """A folder with one file for every finished task, each named by the key of its task.

    A file gets its name only when it is complete (`os.replace`), and its first line is the checksum of
    the rest: what a crash, a full disk or a power cut leaves is detected, and computed again. So no
    fsync is needed. Several processes may use one folder. Content that cannot be written is not kept;
    the first time, a RuntimeWarning states why.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    caller : str
        The public function, for messages.

    Raises
    ------
    ValueError
        If it is not a folder that can be written to.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(folder, "parameter_search")
    ...     cache.put("0a", [1.5])
    ...     cache.get("0a"), cache.get("0b")
    ([1.5], None)
    """

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
        self._sweep()

    def _sweep(self):
        """Remove the temporary files of writers that were killed."""
        for path in self._folder.glob("*/*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()
            except OSError:  # still written, or removed by another process
                continue

    def _path(self, key):
        return self._folder / key[:2] / f"{key}.json"

    def get(self, key):
        """The content under a key; None if there is none, or none that is complete."""
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
        """The content that all processes share under a key: that of the first to write."""
        found = self.get(key)
        if found is not None:
            return found
        self._store(key, content, _linked)
        found = self.get(key)
        if found is None:  # another process was faster, but its record has been damaged since
            self._store(key, content, os.replace)
        return content if found is None else found

    def _store(self, key, content, name):
        """Write a new file, and give it its name: ``name(file, path)``."""
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
            self._warn(error)
            if written is not None:
                _remove(written)

    def _warn(self, error):
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"cache of {self._caller} could not be written to: {error}. The study goes on; results "
                "that cannot be written are not kept.",
                RuntimeWarning,
                stacklevel=2,
            )


def _linked(written, path):
    """Give a file its name, unless the name belongs to a complete file of another process."""
    try:
        os.link(written, path)
    except FileExistsError:
        os.unlink(written)
    except OSError:  # a file system without hard links; of two processes the last one is agreed with
        os.replace(written, path)
    else:
        os.unlink(written)


def _remove(path):
    with contextlib.suppress(OSError):  # it is swept later
        os.unlink(path)


def _checksum(key, text):
    # With the key: a file under the name of another is invalid too.
    return hashlib.blake2b(text, key=key.encode(), digest_size=16).hexdigest().encode()
