"""The duality gap of the products that a solver keeps, before a certificate is computed."""

import math


def relative_gap(loss, margins, sqnorm, dual):
    """Return the relative duality gap of a weight vector and its dual variables; inf: none."""
    if not dual > 0:
        return math.inf
    if loss.is_finite:
        return (0.5 * sqnorm + loss.value(margins)) / dual - 1
    smallest = float(margins.min())
    return 0.5 * sqnorm / (smallest * smallest) / dual - 1 if smallest > 0 else math.inf
