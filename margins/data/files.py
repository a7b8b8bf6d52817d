"""Files of samples: which are meant, and parts of text that end where lines do."""

import glob
import os
import re
from collections.abc import Iterable

# Bytes of a text file that are read at a time.
TEXT_BYTES = 1 << 25
# What is within quotes, of which two stand for one, and the closing quote, if there is one.
CLOSING = re.compile(rb'[^"]*(?:""[^"]*)*"?')
QUOTED = re.compile(rb'"(?:(?<=[,\r\n]")|(?<=\A"))[^"]*(?:""[^"]*)*("?)')  # begins with a byte to search


def files_of(paths, name):
    """The files that `paths` stands for: list of str."""
    if isinstance(paths, str | os.PathLike):
        text = os.fspath(paths)
        found = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
    elif not isinstance(paths, Iterable):
        raise ValueError(f"paths of {name} must be a path, a pattern, or a list. Got {paths!r}.")
    else:
        found = [os.fspath(path) for path in paths]
    missing = [path for path in found if not os.path.isfile(path)]
    if missing or not found:
        got = repr(missing[0]) if missing else f"no file for {paths!r}"
        raise ValueError(f"paths of {name} must be files. Got {got}.")
    return found


def check_not_empty(parts, paths, name):
    """Raise ValueError if files have no part; `name` is the function's."""
    if not parts:
        raise ValueError(f"{', '.join(paths)}: {name} needs at least one sample. Got none.")


def ranges_of_lines(path, n_bytes, begin=0, has_quotes=False):
    """Divide a file after the ends of lines: yields (begin, end), of about `n_bytes`.

    Parameters
    ----------
    path : str
    n_bytes : int
        A part has at least as many, but the last one.
    begin : int
        Where the first line begins.
    has_quotes : bool
        True: the lines are CSV, in which a line does not end within quotes. Only a quote where a field
        begins opens it: others, as in ``5" pipe``, are characters like any other, for pandas too.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while begin < size:
            file.seek(begin)
            text = file.read(n_bytes)
            if not text.endswith(b"\n"):
                text += file.readline()
            end = begin + len(text)
            is_open = has_quotes and _ends_within_quotes(text.removeprefix(b"\xef\xbb\xbf"))
            while is_open and end < size:
                text = file.readline()
                end += len(text)
                is_open = _ends_within_quotes(text, is_open=True)
            yield begin, end
            begin = end


def _ends_within_quotes(text, is_open=False):
    """True if whole lines of CSV end within quotes; `is_open` says whether they begin within some."""
    position = 0
    if is_open:
        position = CLOSING.match(text).end()
        if not text.endswith(b'"', 0, position):
            return True
    return any(not match[1] for match in QUOTED.finditer(text, position))


def bytes_of(path, begin, end):
    """A part of a file: bytes."""
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


def n_lines_before(path, position):
    """The number of line ends before a position in a file: int."""
    with open(path, "rb") as file:
        n_lines = 0
        while (left := position - file.tell()) > 0:
            n_lines += file.read(min(left, TEXT_BYTES)).count(b"\n")
        return n_lines
