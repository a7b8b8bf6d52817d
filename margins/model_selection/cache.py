"""Finished tasks on disk: a study that was interrupted is resumed."""

import hashlib
import json
import os
import tempfile
import time
from pathlib import Path

ABANDONED = 3600  # seconds after which a temporary file is taken for one without a writer


class Cache:
    """A folder with one file for every finished task, each named by the digest of its task.

    A file gets its name only when it is complete (`os.replace`), and its first line is the checksum of
    the rest: what a crash, a full disk or a power cut leaves is detected, and computed again. So no
    fsync is needed. Several processes may use one folder.

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
        except (OSError, TypeError) as error:
            raise ValueError(
                f"cache of {caller} must be a folder that can be written to, or None. Got {folder!r}: "
                f"{error}"
            ) from error
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
        path = self._path(key)
        os.replace(self._written(path, key, content), path)

    def agree(self, key, content):
        """The content that all processes share under a key: that of the first to write."""
        path, found = self._path(key), self.get(key)
        if found is not None:
            return found
        path.unlink(missing_ok=True)  # incomplete
        mine = self._written(path, key, content)
        try:
            os.link(mine, path)  # fails if another process was faster
        except FileExistsError:
            content = self.get(key)
        os.unlink(mine)
        return content

    def _written(self, path, key, content):
        """Write the content to a new file beside `path`: its name."""
        text = json.dumps(content).encode()
        path.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            file.write(_checksum(key, text) + b"\n" + text)
        return file.name


def _checksum(key, text):
    # With the key: a file under the name of another is invalid too.
    return hashlib.blake2b(text, key=key.encode(), digest_size=16).hexdigest().encode()
