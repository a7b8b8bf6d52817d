from margins.estimators.budget import BudgetClassifier
from margins.parameters import Interval, optional, parameter
from margins.solvers.custom._budget import Cache


class BudgetPerceptron(BudgetClassifier):
    """The budget perceptron: keep few samples, and remove those with the largest margins.

    A sample with a product of at most beta is added. Then, as long as the product of some cached sample
    with the weight vector without it exceeds beta, the sample with the largest such product is removed.
    **Guarantee**: on separable data the cache never holds more than ``(R**2 + 2 beta) / gamma**2``
    samples. With a `size`, nothing is removed until the cache is full; then the sample with the largest
    product is.

    Convergence to an epoch without updates is not guaranteed.

    **Use it for** streams, and kernel models of fixed samples, that must stay small: give a `size`.
    **Avoid it for** streams with a kernel, since `partial_fit` is linear.

    **Source**: Crammer, Kandola & Singer (2003); the bound: Panagiotakopoulos & Tsampouka (2010),
    Remark 3.

    See Also
    --------
    RandomBudgetPerceptron : Removes random samples.
    """

    EXAMPLE = 'get("budget-perceptron")(size=2, random_state=0)'

    size: int | None = parameter(
        optional(Interval(1, 2**31 - 1, integer=True)),
        "Maximum number of samples in the cache. None: no limit; if classes cannot be separated, the "
        "cache grows as long as there are samples.",
        default=None,
    )

    def new_cache(self, generator):
        return Cache(0 if self.size is None else int(self.size))
