from margins.estimators.budget import BudgetClassifier
from margins.parameters import Interval, parameter
from margins.solvers.custom._budget import Cache


class RandomBudgetPerceptron(BudgetClassifier):
    """The randomized budget perceptron: when the cache is full, a random sample is removed.

    It is a perceptron with at most `size` samples. Removing a random sample is cheaper than finding the
    sample with the largest margin. **Guarantee**: the expected number of mistakes is bounded relative to
    any weight vector that is short enough for the size.

    Convergence to an epoch without updates is not guaranteed.

    **Use it for** kernel models of fixed size. **Avoid it for** results independent of a seed.

    **Source**: Cavallanti, Cesa-Bianchi & Gentile (2007), the randomized budget perceptron.

    See Also
    --------
    BudgetPerceptron : Removes the samples with the largest margins.
    """

    EXAMPLE = 'get("random-budget-perceptron")(size=2, random_state=0)'

    size: int = parameter(
        Interval(1, 2**31 - 1, integer=True),
        "Maximum number of samples in the cache (the paper's B).",
        default=100,
    )

    def new_cache(self, generator):
        return Cache(int(self.size), generator)
