"""How many examples of a property are tried, and which.

By default hypothesis tries the same examples every time. The long run (``-m "slow or not slow"``) tries
twelve times as many, and others each time: it prints its seed, and the environment variable MARGINS_SEED
repeats it.
"""

import os

from hypothesis import HealthCheck, settings

# Of what tests draw themselves; always 0 in the daily run.
SEED = int(os.environ.get("MARGINS_SEED", "0"))

settings.register_profile(
    "daily", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "long", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
MORE = 12


def examples(count):
    """Settings of a property with `count` examples, and `MORE` times as many in the long run."""
    return settings(max_examples=count if settings.default.derandomize else MORE * count)
