"""The nested active sets of the algorithms; see `margins._activeset.Level`."""

import math

from margins._activeset import Level

# Up to 2.2 and 1.1 times the threshold, then the misclassified samples.
# Panagiotakopoulos & Tsampouka (2011), section 4.
DEEP = (Level(9, 2.2), Level(12, 1.1), Level(12, 1.0))

# The same for the first full epoch of the dynamic margin, whose threshold then is still rough.
DEEP_OPENING = (Level(9, 1.1), Level(12, 1.1), Level(12, 1.0))

# Few passes between two full passes: enough where the problem is easy or large.
SHALLOW = (Level(3, 1.01), Level(10, 1.0))
SHALLOWER = (Level(1, 1.01), Level(3, 1.0))

# Full epochs with few passes before a problem counts as hard.
EASY_EPOCHS = 20

# The support of the solution, then the samples that the pass above has updated: the levels of
# Panagiotakopoulos & Tsampouka (2010), section 5, each with its last full epoch. The paper's 3 and 10
# passes pay only on hard problems.
UNLEARNING = (
    (4, (Level(1, 1.01, supported=True),)),
    (10, (Level(1, 1.01, supported=True), Level(3, updated=True))),
    (math.inf, (Level(1, 1.01, supported=True), Level(2, updated=True), Level(3, updated=True))),
)

# With bounded dual variables a third level, the samples updated again in the second, pays at once.
UNLEARNING_BOUNDED = (
    (5, (Level(1, 1.01, supported=True), Level(3, updated=True), Level(5, updated=True))),
    (math.inf, (Level(1, 1.01, supported=True), Level(5, updated=True), Level(10, updated=True))),
)
