"""Finished tasks on disk: a study that dies goes on where it was."""

import hashlib
import json
import os
import tempfile
import time
from pathlib import Path

ABANDONED = 3600  # seconds after which a temporary file has lost its writer


class Cache:
    """A folder with one file for every finished task, each named by the digest of its task.

    A file appears under its name only when it is whole (`os.replace`), and its first line is the
    checksum of the rest: whatever a crash, a full disk or a power cut leaves is seen, and done again.
    So nothing waits for the disk (no fsync). Several processes may use one folder.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.

    Raises
    ------
    ValueError
        If it is something else than a folder to write to.
    """

    def __init__(self, folder, caller):
        try:
            self._folder = Path(folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except (OSError, TypeError) as error:
            raise ValueError(
                f"cache of {caller} must be a folder that can be written to, or None. Got {folder!r}: "
                f"{error}"
            ) from error
        self._sweep()

    def _sweep(self):
        """Remove what killed writers have left."""
        for path in self._folder.glob("*/*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink()
            except OSError:  # its writer lives, or another process sweeps too
                continue

    def _path(self, key):
        return self._folder / key[:2] / f"{key}.json"

    def get(self, key):
        """What is kept under a key; None if nothing is, or nothing whole."""
        try:
            checksum, _, text = self._path(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        if checksum != _checksum(key, text):
            return None
        return json.loads(text)

    def put(self, key, content):
        """Keep what JSON can hold under a key, all or nothing."""
        path = self._path(key)
        os.replace(self._written(path, key, content), path)

    def agree(self, key, content):
        """What all processes keep under a key: the content of the first to come."""
        path, found = self._path(key), self.get(key)
        if found is not None:
            return found
        path.unlink(missing_ok=True)  # torn
        mine = self._written(path, key, content)
        try:
            os.link(mine, path)  # fails if somebody was faster
        except FileExistsError:
            content = self.get(key)
        os.unlink(mine)
        return content

    def _written(self, path, key, content):
        """A new file beside `path` with the content: its name."""
        text = json.dumps(content).encode()
        path.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(_checksum(key, text) + b"\n" + text)
        return file.name


def _checksum(key, text):
    # With the key: a file under the name of another is no good either.
    return hashlib.blake2b(text, key=key.encode(), digest_size=16).hexdigest().encode()
