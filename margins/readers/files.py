"""Files of samples: their paths, and their division into parts that end with a line."""

import glob
import os
import re
from collections.abc import Iterable

# Size of a part of a text file, in bytes.
TEXT_BYTES = 1 << 25
# Quoted text, in which two quotes stand for one, and the closing quote if there is one.
CLOSING = re.compile(rb'[^"]*(?:""[^"]*)*"?')
# Only a quote at the start of a field opens quoted text; others, as in 5" pipe, are ordinary characters.
QUOTED = rb'"(?:(?<=[%b\r\n]")|(?<=\A"))[^"]*(?:""[^"]*)*("?)'  # a literal first byte is fast


def files_of(paths, name):
    """Return the files that `paths`, a path, a pattern or a list, refers to (list of str)."""
    if isinstance(paths, str | os.PathLike):
        text = os.fspath(paths)
        files = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
    elif not isinstance(paths, Iterable):
        raise ValueError(f"paths of {name} must be a path, a pattern, or a list. Got {paths!r}.")
    else:
        files = [os.fspath(path) for path in paths]
    files = [file for path in files for file in files_in(path)]
    missing = [path for path in files if not os.path.isfile(path)]
    if missing or not files:
        got = repr(missing[0]) if missing else f"no file for {paths!r}"
        raise ValueError(f"paths of {name} must be files. Got {got}.")
    return files


def files_in(path):
    """Return the files of a data set in a folder, as Spark and dask write it; a file: itself.

    Their order is that of their names, numbers by value. Names with a leading "_" or "." are not data,
    and empty files have no samples.
    """
    if not os.path.isdir(path):
        return [path]
    if os.path.isdir(os.path.join(path, "_delta_log")):
        raise ValueError(f"{path}: is a Delta table, with files of deleted rows. Give a list of files.")
    entries = [entry for entry in os.scandir(path) if not entry.name.startswith(("_", "."))]
    if folder := next((entry.path for entry in entries if entry.is_dir()), None):
        raise ValueError(f"{path}: a folder of data must hold only files. Got the folder {folder!r}.")
    files = {entry.name: entry.path for entry in entries if entry.stat().st_size}
    if not files:
        raise ValueError(f"{path}: a folder of data must hold a file that is not empty. Got none.")
    return [files[name] for name in sorted(files, key=_with_numbers)]


def _with_numbers(name):
    """Return a name as a list in which numbers are compared by value."""
    return [int(text) if text.isdecimal() else text for text in re.split(r"(\d+)", name)]


def few(names, n=8):
    """Return names for a message, of which those after the first `n` are counted (str)."""
    others = f" and {len(names) - n} more" if len(names) > n else ""
    return ", ".join(map(repr, [*names][:n])) + others


def check_not_empty(parts, paths, name):
    """Raise a ValueError if files have no parts; `name` is the name of the function."""
    if not parts:
        raise ValueError(f"{', '.join(paths)}: {name} needs at least one sample. Got none.")


def ranges_of_lines(path, n_bytes, begin=0, delimiter=None):
    """Yield (begin, end) of parts of at least `n_bytes` that end with a line, of CSV not in quotes."""
    quoted = None if delimiter is None else re.compile(QUOTED % re.escape(delimiter.encode()))
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while begin < size:
            file.seek(begin)
            text = file.read(n_bytes)
            if not text.endswith(b"\n"):
                text += file.readline()
            end = begin + len(text)
            is_open = _ends_within_quotes(text, quoted)
            while is_open and end < size:
                text = file.readline()
                end += len(text)
                is_open = _ends_within_quotes(text, quoted, is_open=True)
            yield begin, end
            begin = end


def _ends_within_quotes(text, quoted, is_open=False):
    """Return whether lines of CSV end within quotes; `is_open`: they start within quotes."""
    position = 0
    if is_open:
        position = CLOSING.match(text).end()
        if not text.endswith(b'"', 0, position):
            return True
    return quoted is not None and any(not match[1] for match in quoted.finditer(text, position))


def bytes_of(path, begin, end):
    """Return the contents of a file from `begin` to `end` (bytes)."""
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


def n_lines_before(path, position):
    """Return the number of line ends before a position in a file (int)."""
    with open(path, "rb") as file:
        n_lines = 0
        while (left := position - file.tell()) > 0:
            n_lines += file.read(min(left, TEXT_BYTES)).count(b"\n")
        return n_lines
