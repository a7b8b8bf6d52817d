"""The registered algorithms, and groups of them that tests treat alike."""

import pytest

import margins
from margins.estimators.budget import BudgetClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.step import StepClassifier

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
NAMES = list(ALGORITHMS)


def subclasses(base):
    return [name for name in NAMES if issubclass(ALGORITHMS[name], base)]


# They prove an accuracy, or stop by the rule of their paper.
STOPPING = subclasses(MaximumMarginClassifier)
NOISE_TOLERANT = subclasses(AveragingClassifier)
STEPS = subclasses(StepClassifier)
BUDGET = subclasses(BudgetClassifier)
ONLINE = [name for name in NAMES if hasattr(ALGORITHMS[name](), "partial_fit")]
VOTING = ["voted-perceptron"]  # the model is a list of mistakes: no coef_, no intercept_
AVERAGE = "servedio-average"  # one sum over the samples, without order or mistakes
WHITENING = "second-order-perceptron"  # predicts with a matrix times the sum of the samples
LINEAR = ["alma", WHITENING]  # no other kernel, and sums are rounded
# Their coef_ is what has been added up, and not the best multiple of it.
UNSCALED = [*NOISE_TOLERANT, AVERAGE, *STEPS, *BUDGET]
ENDLESS = [*STEPS, "pegasos"]  # no stopping criterion but the number of epochs
# Not for separating hyperplanes: they do not warn that there is none.
SILENT = [name for name in [*UNSCALED, "pegasos"] if name != "perceptron"]
# The others promise a separating hyperplane, and so does the classical perceptron.
SEPARATING = [name for name in NAMES if name not in UNSCALED or name == "perceptron"]
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
