"""Printing: results go to standard output, progress and warnings to standard error."""

import contextlib
import json
import math
import re
import sys


def note(message):
    """Print a line to standard error."""
    print(message, file=sys.stderr)


def print_json(result):
    """Print a result as one JSON object; numbers that JSON does not have (inf, nan) are null."""
    print(json.dumps(plain(result), indent=2, allow_nan=False))


def plain(value):
    """Return a value as JSON can have it: NumPy's numbers as Python's, inf and nan as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # a NumPy array or scalar
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def label_text(label):
    """Return a label as it is written to a file of predictions: whole numbers without a point."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


@contextlib.contextmanager
def live_progress(is_wanted):
    """Return a context with a function that replaces the line of progress, or with None."""
    if not is_wanted or not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
    except ImportError:
        yield None
        return
    with Console(stderr=True).status("reading") as status:
        gaps = {}
        yield lambda line: status.update(_shortened(line, gaps).replace("[", r"\["))


def _shortened(line, gaps):
    """Return a line of progress shortened for a terminal, with the last gap proven."""
    match = re.match(r"(.*?)epoch (\d+) .*?(?:, gap (\S+))?$", line)
    if match is None:
        return line
    prefix, epoch, gap = match.groups()
    if gap is not None:
        gaps[prefix] = gap
    proven = f"gap {gaps[prefix]} proven" if prefix in gaps else "nothing proven yet"
    return f"{prefix}epoch {epoch}, {proven}"
