"""How many examples of a property are tried, and which.

By default hypothesis tries the same examples every time. The long run (``-m "slow or not slow"``) tries
twelve times as many, and others each time: it prints its seed, and the environment variable MARGINS_SEED
repeats it.
"""

import os

from hypothesis import HealthCheck, settings

# Of what tests draw themselves; always 0 in the daily run.
SEED = int(os.environ.get("MARGINS_SEED", "0"))
DAILY, MORE = 50, 12  # examples of a property that names no number; how many times as many

QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("daily", derandomize=True, max_examples=DAILY, **QUIET)
settings.register_profile("long", print_blob=True, max_examples=MORE * DAILY, **QUIET)


def examples(count):
    """Settings of a property with `count` examples, and `MORE` times as many in the long run."""
    return settings(max_examples=count if settings.default.derandomize else MORE * count)
