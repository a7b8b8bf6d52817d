"""Whether a paper's figure is one that our draws could have given.

A paper reports one draw (a permutation of the samples, a random data set, a sequence of accesses). If it
were one more of n draws of ours, with mean m and standard deviation s, it would lie in

    m +- t_{n-1, 0.975} s sqrt(1 + 1/n)

with a probability of 95 %, were they normal. So of a hundred cells about five are apart even if all
is as in the paper. A figure between the smallest and the largest draw is within, too: accuracies of
small data sets are steps, and some draws all agree.
"""

import math
import statistics
from dataclasses import dataclass

from scipy.special import stdtrit

ROUNDING = 0.05  # half a unit of the last digit that the paper prints, in percent
NOT_RUN, FEW_DRAWS, WITHIN, APART = "not run", "few draws", "within", "apart"
LEAST = 4  # draws: of fewer the interval holds almost anything


@dataclass(frozen=True)
class Verdict:
    """A cell: the paper's figure beside our draws.

    Attributes
    ----------
    paper : float
    values : list of float
        Of our draws.
    rounding : float
        Half a unit of the paper's last digit.
    """

    paper: float
    values: list
    rounding: float = ROUNDING

    @property
    def mean(self):
        return statistics.fmean(self.values) if self.values else None

    @property
    def spread(self):
        """Standard deviation of the draws: float, or None of fewer than two."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def score(self):
        """(paper - mean) / spread: float, or None if there is no spread."""
        return (self.paper - self.mean) / self.spread if self.spread else None

    @property
    def beyond(self):
        """Share of the draws at least as distant from the mean as the paper: float, or None."""
        if len(self.values) < 2:
            return None
        distance = max(abs(self.paper - self.mean) - self.rounding, 0)
        return statistics.fmean(abs(value - self.mean) >= distance for value in self.values)

    @property
    def half_width(self):
        """Of the interval of one more draw: float."""
        n = len(self.values)
        quantile = float(stdtrit(n - 1, 0.975))
        return quantile * self.spread * math.sqrt(1 + 1 / n) + self.rounding

    @property
    def word(self):
        """One of the four words: str."""
        if not self.values:
            return NOT_RUN
        if len(self.values) < LEAST:
            return FEW_DRAWS
        low, high = min(self.values) - self.rounding, max(self.values) + self.rounding
        inside = low <= self.paper <= high or abs(self.paper - self.mean) <= self.half_width
        return WITHIN if inside else APART


def together(verdicts):
    """The mean of cells that share their draws, as one figure: Verdict."""
    n_draws = min(len(verdict.values) for verdict in verdicts)
    values = [statistics.fmean(verdict.values[draw] for verdict in verdicts) for draw in range(n_draws)]
    return Verdict(statistics.fmean(verdict.paper for verdict in verdicts), values)


def difference(verdicts):
    """The mean of ours - paper: float."""
    return statistics.fmean(verdict.mean - verdict.paper for verdict in verdicts)


def summary(verdicts):
    """How many cells are within, and how ours differ from the paper's: str."""
    judged = [verdict for verdict in verdicts if verdict.word in (WITHIN, APART)]
    few = [verdict for verdict in verdicts if verdict.word == FEW_DRAWS]
    missing = sum(verdict.word == NOT_RUN for verdict in verdicts)
    said = []
    if judged:
        within = sum(verdict.word == WITHIN for verdict in judged)
        said.append(
            f"Within: {within} of {len(judged)} cells ({100 * within / len(judged):.0f} %); "
            f"ours - paper is {difference(judged):+.2f} on average."
        )
    if few:
        said.append(f"Few draws: {len(few)}; ours - paper is {difference(few):+.2f} on average.")
    if missing:
        said.append(f"Not run: {missing}.")
    return " ".join(said)
