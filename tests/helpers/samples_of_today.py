"""Samples of tests that together take long: a run has some, others every day, and all have their turn.

The environment variable MARGINS_SAMPLE, a number, repeats the samples of a run that has failed.
"""

import datetime
import os
import random

# In the environment, so that the workers of one run agree.
NUMBER = int(os.environ.setdefault("MARGINS_SAMPLE", str(datetime.date.today().toordinal())))


def of_today(items, n):
    """Some of the items: list, in their order."""
    items = list(items)
    return [items[index] for index in sorted(random.Random(NUMBER).sample(range(len(items)), n))]
