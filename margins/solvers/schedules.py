"""The nested active sets of the algorithms; see `margins._activeset.Level`."""

import math

from margins._activeset import Level
from margins.deprecation import renamed

NEW_NAMES = {"DEEP": "NESTED_SETS", "DEEP_OPENING": "NESTED_SETS_FIRST_EPOCH"}
__getattr__ = renamed(__name__, NEW_NAMES, since="0.4.0", until="0.6.0")

# The samples below 2.2 and 1.1 times the threshold, then the misclassified samples:
# Panagiotakopoulos & Tsampouka (2011), section 4.
NESTED_SETS = (Level(9, 2.2), Level(12, 1.1), Level(12, 1.0))

# The same for the first full epoch of the dynamic margin, whose threshold is still inaccurate.
NESTED_SETS_FIRST_EPOCH = (Level(9, 1.1), Level(12, 1.1), Level(12, 1.0))

# Few passes between two full passes, which suffice for easy or large problems.
SHALLOW = (Level(3, 1.01), Level(10, 1.0))
SHALLOWER = (Level(1, 1.01), Level(3, 1.0))

# A problem is hard if it takes more than this many full epochs with few passes.
EASY_EPOCHS = 20

# (last full epoch, levels): the support of the solution, then the samples updated in the pass above, as
# in Panagiotakopoulos & Tsampouka (2010), section 5. The paper's 3 and 10 passes are faster only on hard
# problems.
UNLEARNING = (
    (4, (Level(1, 1.01, supported=True),)),
    (10, (Level(1, 1.01, supported=True), Level(3, updated=True))),
    (math.inf, (Level(1, 1.01, supported=True), Level(2, updated=True), Level(3, updated=True))),
)

# With bounded dual variables, a third level, of samples that the second level updated again, is faster
# from the first epoch on.
UNLEARNING_BOUNDED = (
    (5, (Level(1, 1.01, supported=True), Level(3, updated=True), Level(5, updated=True))),
    (math.inf, (Level(1, 1.01, supported=True), Level(5, updated=True), Level(10, updated=True))),
)
