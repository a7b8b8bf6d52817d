"""Which draws the tables of Khardon & Wachman need, and how long they take."""

import statistics
from dataclasses import dataclass, replace

from noise_tolerance_data import NOISE, present
from noise_tolerance_draws import IN_FILE_ORDER, SVM_COLUMNS, settings_of
from noise_tolerance_tables import (
    ADULT_RUN,
    COLUMNS,
    DEFAULT_RUN,
    FOLDS,
    OPTIMIZATION_RUNS,
    OPTIMIZED,
    SEARCH_RUNS,
    SEARCHED,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_6,
    TABLE_6_SVM,
    TABLE_7,
)

DRAWS = 20
SOME = 10  # of the sizes of adult
FEW = 4  # of usps, mnist and adult, whose draws take minutes
# Of usps the products are a group of their own, for their time.
SINGLE, PRODUCTS = ("nothing", "tau", "lambda", "alpha"), ("tau-x-lambda", "tau-x-alpha")
WITHOUT_ALPHA = ("nothing", "tau", "lambda", "tau-x-lambda")

# samples, stored features of a row, binary problems: of what a draw costs before the first is measured.
SIZES = {
    "usps": (9298, 256, 10),
    "mnist": (70000, 150, 10),
    "adult": (32561, 14, 1),
    "breast-cancer-wisconsin": (699, 9, 1),
    "bupa": (345, 6, 1),
    "wdbc": (569, 30, 1),
    "crx": (690, 46, 1),
    "promoters": (106, 57, 1),
    "ionosphere": (351, 34, 1),
    "wpbc": (198, 33, 1),
    "sonar": (208, 60, 1),
}
ARTIFICIAL_SIZE = (600, 50, 1)
SVM_SECONDS = 1.0
VOTING = 0.05  # updates in an access, times the cost of a vote in terms
SECONDS_PER_TERM = 1e-9  # one model, one stored feature of a sample; guessed low where models converge


@dataclass(frozen=True)
class Block:
    """Columns of a table for a data set, that are drawn together.

    Attributes
    ----------
    table : int
    name : str
        Of the data; of Table 7 with the kernel.
    columns : tuple of str
    n_draws : int
    """

    table: int
    name: str
    columns: tuple
    n_draws: int

    @property
    def key(self):
        return f"{self.table}: {self.name}"

    @property
    def group(self):
        return " ".join(self.columns) or "all"

    def guessed_seconds(self):
        """Of a draw, before one is measured: float."""
        if self.columns == SVM_COLUMNS:
            return SVM_SECONDS
        name = self.name.split(",")[0]
        samples, features, problems = SIZES.get(name, ARTIFICIAL_SIZE)
        settings = len(settings_of(self.columns or ("tau",)))
        if self.name.endswith("poly"):  # all pairs of samples, for all classes together
            return SECONDS_PER_TERM * settings * samples**2 * features
        models = settings * problems
        runs = {2: DEFAULT_RUN, 5: ADULT_RUN, 7: OPTIMIZATION_RUNS.get(name)}
        run = runs.get(self.table) or SEARCH_RUNS.get(name, DEFAULT_RUN)
        # Table 2: 30 sets with five times as many features; Table 5: sizes that add up to a fold.
        factors = {2: 150 * FOLDS, 5: 7 * FOLDS, 6: FOLDS * (FOLDS + 1), 7: 2}
        accesses = samples * run["max_iter"] * models * factors.get(self.table, FOLDS)
        votes = VOTING * accesses * samples / FOLDS  # of every update, for every test sample
        return SECONDS_PER_TERM * (accesses * features + votes)

    def seconds(self, results):
        """Processor seconds of a draw, measured if there is one: float."""
        known = results.seconds(self.key, self.group)
        return statistics.fmean(known) if known else self.guessed_seconds()

    def is_begun(self, results):
        """True if a file holds a draw of it."""
        return bool(results.seconds(self.key, self.group))

    def draws_left(self, results):
        """How many a file does not hold yet: int."""
        return max(self.n_draws - len(results.seconds(self.key, self.group)), 0)

    def seconds_left(self, results):
        """Of the draws that a file does not hold yet: float."""
        return self.draws_left(results) * self.seconds(results)


def blocks_of(tables, names=None, n_draws=None):
    """What is to be drawn of these tables and data sets, whose files are there: list of Block.

    Without `names`, of all data sets; with `n_draws`, at most that many of each.
    """
    noisy = [f"{NOISE}{noise:g}" for noise in TABLE_4]
    found = [Block(2, f"{NOISE}{noise:g}", ("nothing",), DRAWS) for noise in TABLE_2]
    for name in TABLE_3:
        if name == "usps":
            found += [Block(3, name, SINGLE, FEW), Block(3, name, PRODUCTS, 1)]
        elif name == "mnist":
            found.append(Block(3, name, WITHOUT_ALPHA, FEW))
        else:
            found.append(Block(3, name, SEARCHED, DRAWS))
    found += [Block(4, name, SEARCHED, DRAWS) for name in noisy]
    found.append(Block(5, "adult", (), SOME))
    found += [Block(6, name, tuple(COLUMNS), DRAWS) for name in TABLE_6]
    for name in TABLE_6_SVM:
        found.append(Block(6, f"{name}, {IN_FILE_ORDER}", SVM_COLUMNS, 1))
        found.append(Block(6, f"{name}, svm", SVM_COLUMNS, DRAWS))
    for (name, kernel), accuracies in TABLE_7.items():
        columns = OPTIMIZED[: len(accuracies["last"])]
        is_slow = (name, kernel) == ("mnist", "poly")
        found.append(Block(7, f"{name}, {kernel}", columns, 1 if is_slow else FEW))
    return [
        block if n_draws is None else replace(block, n_draws=min(n_draws, block.n_draws))
        for block in found
        if block.table in tables
        and present(block.name.split(",")[0])
        and (names is None or block.name.split(",")[0] in names)
    ]
