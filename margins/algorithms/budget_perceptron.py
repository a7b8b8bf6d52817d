"""The budget perceptron."""

from margins.estimators.budget import BudgetClassifier
from margins.parameters import Interval, optional, parameter
from margins.solvers.custom._budget import Cache


class BudgetPerceptron(BudgetClassifier):
    """The budget perceptron: keep few patterns, and drop those that have become easy.

    A pattern with a product of at most beta is added. Then, while some pattern in the cache would still
    be right by more than beta if it had never been added, the one that has most is removed. On separable
    data the cache never holds more than ``(R**2 + 2 beta) / gamma**2`` patterns, however many come. With
    a `size` nothing is removed before the cache is full, and then the easiest.

    `cache_` lists, for each binary problem, the samples in the cache, the oldest first; a stream keeps
    their rows, and nothing else. That epochs end without an update is not promised, nor expected.

    **Source**: Crammer, Kandola & Singer (2003); the bound: Panagiotakopoulos & Tsampouka (2010),
    Remark 3.
    """

    size: int | None = parameter(
        optional(Interval(1, 2**31 - 1, integer=True)),
        "Patterns in the cache at most. None: no bound but that of the data.",
        default=None,
    )

    def _cache(self, generator):
        return Cache(0 if self.size is None else int(self.size))
