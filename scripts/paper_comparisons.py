"""The tables of the papers on maximum margins, as `reproduce_*` measure them."""

import math

import reporting
import reproduce_maximum_margin
import reproduce_soft_margin

SCRIPTS = {"000": reproduce_soft_margin, "004": reproduce_maximum_margin}
DATA = {"a9a": "Adult", "w8a": "Web", "covtype": "Covertype"}
KEPT = ("algorithm", "margin", "n_updates", "J", "gap", "fraction", "seconds", "ratio", "tol", "mark")
DIGITS = 6


def compared(paper, name, arguments):
    """Both tables of a paper for one data set: list of rows, each a dict with the paper's numbers."""
    result = SCRIPTS[paper].reproduce(name, arguments, reporting.Progress(0))
    return [
        {"table": table, **{key: rounded(row[key]) for key in KEPT if key in row}}
        | {"paper": {key: rounded(value) for key, value in (row["paper"] or {}).items()}}
        for table in (1, 2)
        for row in result[f"table_{table}"]
    ]


def rounded(value):
    """Floats to some significant digits; what is not finite becomes None."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def arguments_of(max_iter, repeats=1, seed=0):
    """What `reproduce` reads of a command line: argparse.Namespace."""
    options = ["--max-iter", str(max_iter), "--repeats", str(repeats), "--seed", str(seed)]
    return reporting.command_line("").parse_args(options)
