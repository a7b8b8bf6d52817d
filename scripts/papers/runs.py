"""The runs of Khardon & Wachman's tables: what a column searches, on which data, how often it is drawn.

`published.toml` holds the figures of all papers. A figure of [4] is a cell; `Results` keeps its draws.
"""

import math
import statistics
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import real_data
from paper_results import Verdict

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
TABLES = (2, 3, 4, 5, 6, 7)
AVERAGINGS = ("last", "longest", "voted")
NOISE = "noise "  # begins the name of an artificial data set
FILES = {"adult": "a9a"}  # name in the paper -> of the files, where they differ
FOLDS = 10
FEATURES, MARGIN = 50, 0.05  # of the artificial data of Tables 4 and 6
ROUNDING = 0.05  # half a unit of the last digit that the paper prints, in percent

# The first value of each switches the parameter off.
GRIDS = {
    "tau": (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0),
    "lam": (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0),
    "alpha_bound": (math.inf, 80, 60, 40, 20, 10, 5),
}

# A column: the parameters that are selected, one stage after the other.
COLUMNS = {
    "nothing": (),
    "tau": (("tau",),),
    "lambda": (("lam",),),
    "alpha": (("alpha_bound",),),
    "tau-x-alpha": (("tau", "alpha_bound"),),
    "tau-x-lambda": (("tau", "lam"),),
    "tau-then-alpha": (("tau",), ("alpha_bound",)),
    "tau-then-lambda": (("tau",), ("lam",)),
}
SINGLE, PRODUCTS = ("nothing", "tau", "lambda", "alpha"), ("tau-x-lambda", "tau-x-alpha")
RELATIONS = ("V > C", "V > L", "L > C", "L > V", "C > L", "C > V", "V = L = C")
SIZES = (10, 100, 1000, 5000, 10000, 20000)  # of training sets of Table 5
COLUMNS_OF = {
    2: RELATIONS,
    3: SINGLE + PRODUCTS,
    4: SINGLE + PRODUCTS,
    5: SIZES,
    6: tuple(COLUMNS),
    7: ("nothing", "tau", "lambda", "tau-x-lambda", "tau-then-lambda"),
}
SVM_COLUMNS = ("svm-l1", "svm-l2")
IN_FILE_ORDER = "in the order of the file"

# eta and epochs: of Tables 2, 4 and 6; of adult; of the search of Table 3; of Table 7.
DEFAULT_RUN = {"eta": 0.1, "max_iter": 100}
ADULT_RUN = {"eta": 0.4, "max_iter": 5}
SEARCH_RUNS = {"mnist": {"eta": 1.0, "max_iter": 1}}
OPTIMIZATION_RUNS = SEARCH_RUNS | {"usps": {"eta": 0.1, "max_iter": 10}, "adult": ADULT_RUN}
# The paper says only "degree 4". The cache holds the whole kernel matrix of usps.
POLY = {"kernel": "poly", "degree": 4, "gamma": 1.0, "coef0": 1.0, "cache_size": 1000}

DRAWS, FEW = 20, 4
# Columns that are drawn together, and how often, if a draw takes minutes.
SLOW = {
    "3: usps": ((SINGLE, FEW), (PRODUCTS, 1)),
    "3: mnist": ((("nothing", "tau", "lambda", "tau-x-lambda"), FEW),),
    "5: adult": (((), 10),),
    "7: mnist, poly": ((("nothing", "tau"), 1),),
}


def present(name):
    """Return True if a data set needs no files, or its files are there."""
    name = name.split(",")[0]
    return name.startswith(NOISE) or FILES.get(name, name) in real_data.available()


@dataclass(frozen=True)
class Cell:
    """A figure of the paper: its row (data set, column), its part, and where its draws are kept."""

    table: int
    row: tuple
    part: str
    paper: float
    block: str
    name: str

    def verdict(self, results):
        """Return the Verdict on the figure and our draws."""
        return Verdict(self.paper, results.values(self.block, self.name), self.rounding)

    @property
    def rounding(self):
        """Return half a unit of the last digit; the counts of Table 2 are not rounded."""
        return 0.0 if self.table == 2 else ROUNDING


def cells_of(table):
    """Return the cells of a table, as far as the paper prints them: list of Cell."""
    cells = []
    for key, parts in PUBLISHED[str(table)].items():
        data = "adult" if table == 5 else key
        for part, figures in parts.items():
            for column, figure in zip(COLUMNS_OF[table], figures, strict=False):
                row = (data, f"{column}, tau = {key}" if table == 5 else column)
                name = column if table == 2 else f"{row[1]}, {part}"
                if not math.isnan(figure):
                    cells.append(Cell(table, row, part, figure, f"{table}: {data}", name))
    return cells


@dataclass(frozen=True)
class Block:
    """Columns of a table that are drawn together, for a data set (of Table 7 with its kernel)."""

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

    def seconds(self, results):
        """Return the mean processor seconds of the draws so far; nan without one."""
        seconds = results.seconds(self.key, self.group)
        return statistics.fmean(seconds) if seconds else math.nan

    def draws_left(self, results):
        """Return how many draws the results do not hold yet."""
        return max(self.n_draws - len(results.seconds(self.key, self.group)), 0)

    def seconds_left(self, results):
        """Return the processor seconds of the draws that the results do not hold yet; nan if unknown."""
        return self.draws_left(results) and self.draws_left(results) * self.seconds(results)


def blocks_of(tables, names=None, n_draws=math.inf):
    """Return the blocks of tables and data sets (None: all) whose files are there."""
    blocks = []
    for table in tables:
        for data in dict.fromkeys(cell.row[0] for cell in cells_of(table)):
            columns = ("nothing",) if table == 2 else COLUMNS_OF[table]
            if table == 7 and data.endswith("poly"):
                columns = columns[:2]
            parts = SLOW.get(f"{table}: {data}", ((columns, FEW if table == 7 else DRAWS),))
            blocks += [Block(table, data, *part) for part in parts]
    for data in PUBLISHED["svm"] if 6 in tables else ():
        blocks.append(Block(6, f"{data}, {IN_FILE_ORDER}", SVM_COLUMNS, 1))
        blocks.append(Block(6, f"{data}, svm", SVM_COLUMNS, DRAWS))
    return [
        replace(block, n_draws=min(n_draws, block.n_draws))
        for block in blocks
        if present(block.name) and (names is None or block.name.split(",")[0] in names)
    ]
