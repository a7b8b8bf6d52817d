"""What commands print: results to standard output, progress and warnings to standard error."""

import contextlib
import json
import math
import re
import sys

from margins.text import aligned


def note(message):
    """Print a line to standard error."""
    print(message, file=sys.stderr)


def print_json(result):
    """Print a result as one JSON object; numbers that JSON does not have (inf, nan) are null."""
    print(json.dumps(plain(result), indent=2, allow_nan=False))


def plain(value):
    """A value as JSON has it: NumPy's numbers as Python's, inf and nan as None."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def print_pairs(pairs):
    """Print names and values in two columns."""
    print(aligned(pairs, left=(0, 1)))


def print_table(header, rows):
    """Print cells in columns under a header: the first column to the left, the others to the right."""
    print(aligned([header, *rows]))


def label_text(label):
    """A label as it is written to a file of predictions: whole numbers without a point.

    Examples
    --------
    >>> label_text(-1.0), label_text(0.5), label_text("spam")
    ('-1', '0.5', 'spam')
    """
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


@contextlib.contextmanager
def live_progress(is_wanted):
    """A context with a function that shows a line on the terminal, in place of the one before.

    Parameters
    ----------
    is_wanted : bool
        False, or standard error is no terminal, or rich is not installed: None in place of the function.
    """
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
    """A line of progress as it fits a terminal, with the last gap proven.

    Parameters
    ----------
    line : str
        As `margins.solvers.history.progress` writes it, perhaps with a class before it.
    gaps : dict of str
        By class, those that lines before this one had; this one's is added.
    """
    found = re.match(r"(.*?)epoch (\d+) .*?(?:, gap (\S+))?$", line)
    if found is None:
        return line
    which, epoch, gap = found.groups()
    if gap is not None:
        gaps[which] = gap
    proven = f"gap {gaps[which]} proven" if which in gaps else "nothing proven yet"
    return f"{which}epoch {epoch}, {proven}"
