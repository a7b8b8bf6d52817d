"""The nested active sets that algorithms choose from; `Level` says what the numbers mean."""

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

# All that supports the solution, then what the pass above has changed.
# Panagiotakopoulos & Tsampouka (2010), section 5.
UNLEARNING = (Level(3, 1.01, supported=True), Level(10, updated=True))

# With bounded dual variables a third level, what that pass has changed again, saves a quarter of the
# time on Adult; without bounds it costs more than it saves.
UNLEARNING_BOUNDED = (
    Level(2, 1.01, supported=True),
    Level(5, updated=True),
    Level(10, updated=True),
)
