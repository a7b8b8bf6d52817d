"""The nested active sets that algorithms choose from; `Level` says what the numbers mean."""

import math

from margins._activeset import Level

# Up to 2.2 and 1.1 times the threshold, then the misclassified patterns.
# Panagiotakopoulos & Tsampouka (2011), section 4.
DEEP = (Level(9, 2.2), Level(12, 1.1), Level(12, 1.0))

# The same for the first full epoch of the dynamic margin, whose threshold then is still rough.
DEEP_OPENING = (Level(9, 1.1), Level(12, 1.1), Level(12, 1.0))

# Few passes between two looks at all patterns: enough where the problem is easy or large.
SHALLOW = (Level(3, 1.01), Level(10, 1.0))
SHALLOWER = (Level(1, 1.01), Level(3, 1.0))

# How many full epochs are given to few passes before the problem counts as hard.
EASY_EPOCHS = 20

# All that supports the solution, then what the pass above has changed: the levels of
# Panagiotakopoulos & Tsampouka (2010), section 5, with the full epoch up to which they are played. The
# paper's passes, 3 and 10, pay where a problem is hard; most end long before.
UNLEARNING = (
    (4, (Level(1, 1.01, supported=True),)),
    (10, (Level(1, 1.01, supported=True), Level(3, updated=True))),
    (math.inf, (Level(1, 1.01, supported=True), Level(2, updated=True), Level(3, updated=True))),
)

# With bounded dual variables a third level, what that pass has changed again, pays from the start.
UNLEARNING_BOUNDED = (
    (5, (Level(1, 1.01, supported=True), Level(3, updated=True), Level(5, updated=True))),
    (math.inf, (Level(1, 1.01, supported=True), Level(5, updated=True), Level(10, updated=True))),
)
