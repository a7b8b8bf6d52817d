"""Files of samples: which are meant, and parts of text that end where lines do."""

import glob
import os

# Bytes of a text file that are read at a time.
TEXT_BYTES = 1 << 25


def files_of(paths, name):
    """The files that `paths` stands for: list of str."""
    if isinstance(paths, str | os.PathLike):
        text = os.fspath(paths)
        found = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
    else:
        found = [os.fspath(path) for path in paths]
    missing = [path for path in found if not os.path.isfile(path)]
    if missing or not found:
        got = repr(missing[0]) if missing else f"no file for {paths!r}"
        raise ValueError(f"paths of {name} must be files. Got {got}.")
    return found


def ranges_of_lines(path, n_bytes, begin=0, quote=None):
    """Divide a file after the ends of lines: yields (begin, end), of about `n_bytes`.

    Parameters
    ----------
    path : str
    n_bytes : int
        A part has at least as many, but the last one.
    begin : int
        Where the first line begins.
    quote : bytes, optional
        What encloses fields, within which a line does not end.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while begin < size:
            file.seek(begin)
            text = file.read(n_bytes)
            end = begin + len(text)
            is_open = quote is not None and text.count(quote) % 2 == 1
            while end < size and (is_open or not text.endswith(b"\n")):
                text = file.readline()
                end += len(text)
                is_open ^= quote is not None and text.count(quote) % 2 == 1
            yield begin, end
            begin = end


def bytes_of(path, begin, end):
    """A part of a file: bytes."""
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)
