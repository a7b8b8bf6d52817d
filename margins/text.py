"""Tables and shares as readable text."""

from collections.abc import Container, Iterable, Sequence


def aligned(rows: Iterable[Sequence[object]], left: Container[int] = (0,)) -> str:
    """Return rows as text, with columns two spaces apart and aligned to the left or the right."""
    cells = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def percent(share: float) -> str:
    """Return a share as a percentage, of two digits or, near 100 %, with two digits of what it lacks.

    >>> percent(0.29), percent(1 - 3.16e-5)
    ('29 %', '99.9968 %')
    """
    lacks = float(f"{100 * (1 - share):.2g}")
    return f"{100 * share:.2g} %" if lacks > 10 else f"{100 - lacks:.15g} %"
