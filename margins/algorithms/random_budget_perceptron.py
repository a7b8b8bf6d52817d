"""The randomized budget perceptron."""

from margins.estimators.budget import BudgetClassifier
from margins.parameters import Interval, parameter
from margins.solvers.custom._budget import Cache


class RandomBudgetPerceptron(BudgetClassifier):
    """The randomized budget perceptron: when the cache is full, a random pattern makes room.

    A perceptron with at most `size` patterns. Cheaper than looking for the easiest of them, and it has a
    bound on the expected number of mistakes against any vector that is short enough for the size.

    `cache_` lists, for each binary problem, the samples in the cache, the oldest first; a stream keeps
    their rows, and nothing else. That epochs end without an update is not promised, nor expected.

    **Source**: Cavallanti, Cesa-Bianchi & Gentile (2007), the randomized budget perceptron.
    """

    size: int = parameter(
        Interval(1, 2**31 - 1, integer=True),
        "Patterns in the cache at most (the paper's B).",
        default=100,
    )

    def _cache(self, generator):
        return Cache(int(self.size), generator)
