"""Few combinations of values that show what any two of them do together."""


def every_pair(one, other, third):
    """Triples of values with every pair of values of any two; `third` has the fewest."""
    few = list(third)
    assert len(few) <= min(len(one), len(other))
    return [(a, b, few[(i + j) % len(few)]) for i, a in enumerate(one) for j, b in enumerate(other)]
