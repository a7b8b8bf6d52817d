"""Losses of plug-ins: whether their dual values bound them, on which every certificate relies."""

import reprlib

import numpy as np

# Each w.y_k at which the value of a loss is compared with its dual values.
TRIED = (-9.0, -1.0, 0.0, 0.5, 1.0, 2.0)


def checked(loss, C):
    """Return a loss with penalties C > 0; raise a ValueError if its dual values do not bound it."""
    shape = np.shape(C)
    owner, diag, upper = type(loss).__name__, np.asarray(loss.diag), np.asarray(loss.upper)
    is_right = (diag >= 0) & (diag < np.inf) & (upper > 0) & ((diag > 0) | (upper < np.inf))
    if not ({diag.shape, upper.shape} <= {(), shape} and is_right.all()):
        got = " and ".join(reprlib.repr(values.tolist()) for values in (diag, upper))
        raise ValueError(
            f"diag and upper of {owner} must be one number, or one for each penalty C: a finite diag "
            f">= 0 and an upper > 0, where diag > 0 or upper is finite. Got {got}."
        )
    for p in TRIED:
        slack = max(1 - p, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            dual = np.minimum(upper, np.where(diag > 0, slack / diag, np.inf)) if slack else 0.0
        least = float(np.broadcast_to(dual * (slack - 0.5 * diag * dual), shape).sum())
        got = loss.value(np.full(shape or 1, p))
        value = np.asarray(got)
        is_number = value.ndim == 0 and value.dtype.kind in "iuf"
        if not (is_number and value >= (1 - 1e-9) * least):
            raise ValueError(
                f"value of {owner} must be a number of at least {least:g} if each w.y_k is p = {p:g}, "
                "the sum of the largest alpha (1 - p) - diag alpha^2 / 2 for 0 <= alpha <= upper. "
                f"Got {got!r}."
            )
    return loss
