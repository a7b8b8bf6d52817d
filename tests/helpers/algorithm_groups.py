"""The registered algorithms, and groups of them that tests treat alike."""

import numpy as np
import pytest

import margins
from margins.cli.catalogue import rules_of
from margins.estimators.budget import BudgetClassifier
from margins.estimators.custom import OwnLoopClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.step import StepClassifier
from margins.rules import Additive, NoShrink
from margins.solvers.auto import SOLVERS

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
# The model is a list of mistakes: no coef_, no intercept_.
VOTING = [name for name in NOISE_TOLERANT if ALGORITHMS[name]().averaging == "voted"]
AVERAGE = "servedio-average"  # one sum over the samples, without order or mistakes
WHITENING = "second-order-perceptron"  # predicts with a matrix times the sum of the samples
# No other kernel, and sums are rounded.
LINEAR = subclasses(OwnLoopClassifier)
SPECIFICATIONS = {name: ALGORITHMS[name]().specification(np.ones(1)) for name in NAMES}
# Their coef_ is what has been added up, and not the best multiple of it.
UNSCALED = [name for name in NAMES if SPECIFICATIONS[name].model_scale is not None]
# Not for separating hyperplanes: they do not warn that there is none.
SILENT = [name for name in NAMES if name == AVERAGE or not SPECIFICATIONS[name].warns]
# No stopping criterion but the number of epochs.
ENDLESS = [name for name in SILENT if name in STEPS or name not in UNSCALED]
# The others guarantee a separating hyperplane, and so does the classical perceptron.
SEPARATING = [name for name in NAMES if name not in UNSCALED or name not in SILENT]
RULES = {name: rules for name in NAMES if (rules := rules_of(ALGORITHMS[name])) is not None}
# They add whole samples and nothing else, so that sums of integers are exact.
SUMS_OF_SAMPLES = [
    name
    for name, rules in RULES.items()
    if isinstance(rules.update, Additive) and isinstance(rules.shrink, NoShrink)
]
# The decomposition is for kernels alone.
SOLVERS_OF_KERNELS = ("decomposition", "interior-point")
SOLVERS_OF_LINEAR_DATA = [solver for solver in SOLVERS if solver not in SOLVERS_OF_KERNELS]
# What validates data and parameters, encodes labels, trains binary problems and predicts.
METHODS = ("fit", "partial_fit", "predict", "decision_function", "check_parameters")
METHODS += ("training_set", "specification", "chunk_rules", "set_fitted")


def methods_of(name):
    found = (getattr(ALGORITHMS[name], method, None) for method in METHODS)
    return tuple(getattr(method, "__qualname__", method) for method in found)


# One algorithm of each set of these methods, whose code cannot fail for the others alone; and the voting
# one, whose model has another form.
REPRESENTATIVES = [*{methods_of(name): name for name in reversed(NAMES)}.values(), *VOTING]


def each_with_some(values, names=NAMES):
    """Pairs (algorithm, value): all values for representatives, one of them for each other algorithm."""
    values = list(values)
    others = [name for name in names if name not in REPRESENTATIVES]
    pairs = [(name, value) for name in names if name in REPRESENTATIVES for value in values]
    return pairs + [(name, values[k % len(values)]) for k, name in enumerate(others)]


quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
