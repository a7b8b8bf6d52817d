"""Classifiers that go on by Newton steps, once visits have found the patterns that matter."""

from margins.certificate import Hinge
from margins.estimators.base import MaximumMarginClassifier
from margins.parameters import BOOLEAN, parameter
from margins.rules import SuffixAverage
from margins.solvers.driver import Stage
from margins.solvers.newton._dense_hessian import nanoseconds
from margins.solvers.newton.newton import (
    FEW_ELEMENTS,
    NewtonEpochs,
    are_few,
    has_small_hessian,
    passes_of_products,
    serves,
)
from margins.solvers.newton.subsample import SampledNewtonEpochs, sample_size

# Of the hinge loss, few elements need visits all the same, unless these are of so few features: then all
# the steps cost less (6 features of bupa: 0.36 ms, 0.48 with visits).
FEW_FEATURES = 8

# Of the squared hinge loss a part of the patterns is visited before Newton steps, this share and so many
# at least: they tell the steps as much as all would. (With a quarter, and not less than 1000, instead of
# all: Covertype 0.63 to 0.76 of the time, usps 0.77 to 0.90, Adult 0.79 to 0.97; with an eighth and 2000
# instead of that: Covertype 0.83 to 0.94, shuttle 0.93 to 1.05, satimage 0.96, 8 sets 0.98.) Steps of
# the hinge loss also ask which dual variables are between their bounds; of those not visited nobody
# knows (with a half visited, and three patterns 1e7 times as long as the others, 5 of 10 fits converged,
# not 8).
SHARE, LEAST = 1 / 8, 2000

# What a visit takes, in nanoseconds, and how many steps there mostly are: more where patterns are few.
NS_PER_VISIT, NS_PER_ELEMENT = 30, 0.7
STEPS, STEPS_OF_FEW = 3, 50

# Newton steps begin at the mean of so many weight vectors of the second half of the visits. From the
# last one it mostly is a step more: of the squared hinge loss Adult took 0.85 to 0.92 of the time, usps
# 0.90 to 0.95, mushrooms 0.86 to 0.99, shuttle 0.92 to 1.03 (8 sets 0.94), of the hinge loss 13 0.96.
AVERAGED = 16


def presentations_worth(patterns, problem):
    """About how many presentations of every pattern take as long as Newton steps would.

    The first step sums a Hessian of all patterns, and each solves with one, if it is small.
    """
    if not has_small_hessian(patterns):
        return passes_of_products(problem)
    hessian, factor = nanoseconds(patterns)
    visits = NS_PER_VISIT * len(patterns) + NS_PER_ELEMENT * patterns.rows.n_stored
    n_steps = STEPS_OF_FEW if are_few(patterns) else STEPS
    return (hessian + n_steps * factor) / visits + n_steps


def need_visits(patterns, problem):
    """True if Newton steps are to be preceded by visits, which find the patterns that matter.

    Not where elements are few: one more step, if any, costs less (sonar, C = 1: 1.0 ms, not 1.3). Many
    elements are to be, also of few features (skin_nonskin, 3 features, C = 0.01: 42 ms, 28 with visits).
    Without a small Hessian visits may do altogether.
    """
    if isinstance(problem, Hinge) and patterns.rows.n_features > FEW_FEATURES:
        return True
    return not has_small_hessian(patterns) or patterns.rows.has_nonzeros(FEW_ELEMENTS + 1)


def opening_of(run, stage):
    """The visits before Newton steps, by a stage without active sets: margins.solvers.driver.Stage."""
    m = len(run.patterns)
    all_of_them = isinstance(run.problem, Hinge) or run.max_iter == 1  # then no step tells the rest
    n_patterns = None if all_of_them else min(max(int(SHARE * m), LEAST), m)
    return stage._replace(epochs=1, n_patterns=n_patterns)


def mean_of_late(run, stage):
    """What is read out of the visits before Newton steps: margins.rules.SuffixAverage."""
    n = stage.n_patterns if stage.n_patterns is not None else len(run.patterns)
    return SuffixAverage(run.weights, n / 2, max(n / (2 * AVERAGED), 1))


class NewtonClassifier(MaximumMarginClassifier):
    """A maximum-margin classifier whose visits, where features are few, only begin.

    The dual variables that an algorithm has accumulated say which patterns matter, whatever rules have
    accumulated them, and the mean of its late weight vectors is a good one to begin with. Newton steps
    then settle how much each pattern matters, all at once, and prove it.
    """

    newton: bool = parameter(
        BOOLEAN,
        "Go on by Newton steps after the first visits (of the squared hinge loss: of an eighth of the "
        "patterns), where features are few: their square, the intercept counted, at most the number "
        "of non-zero elements of X, or themselves less than a third of the patterns. At most 20,000 "
        "non-zero elements need no visits before, but the hinge loss of more than 8 features does; that "
        "of very many patterns (1600 for each feature, and 32,000) begins over a sample instead. Not "
        "with C = inf, a kernel or stop='clean-pass'. False: only visits, by the algorithm's own rules.",
        default=True,
    )

    def newton_stages(self, run, opening):
        """A beginning by visits, where it pays, and Newton steps; nothing where these do not serve.

        A run that goes on after them has not been finished, and is to begin anew or to find a scale for
        the dual variables that they have left.

        Parameters
        ----------
        run : margins.solvers.driver.Run
        opening : iterable of margins.solvers.driver.Stage
            The visits to begin with, the first of them an `opening_of`.

        Yields
        ------
        margins.solvers.driver.Stage
        """
        if not (self.newton and run.prove_early and serves(run.patterns, run.problem)):
            return
        size = sample_size(run.patterns, run.problem) if run.max_iter > 1 else 0
        if size > 0 or not need_visits(run.patterns, run.problem):
            yield Stage(joint=SampledNewtonEpochs(run, size) if size > 0 else NewtonEpochs(run))
            # Not finished: a sample has misled; or with long rows among short ones, what is left of a
            # Hessian of all patterns, when most have been taken away again, is rounding. Begin anew:
            # visits find those that belong to it.
            run.weights.clear()
        for n_before, stage in enumerate(opening):
            run.readout = None if n_before else mean_of_late(run, stage)
            yield stage
        steps = NewtonEpochs(run)  # from what has been read out
        run.readout = None
        yield Stage(joint=steps)
