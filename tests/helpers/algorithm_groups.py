"""The registered algorithms, a table of their properties, and groups that tests treat alike."""

import pytest

import margins
from margins.cli.catalogue import rules_of
from margins.estimators.custom import OwnLoopClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.step import StepClassifier
from margins.rules import Additive, NoShrink
from margins.solvers.auto import SOLVERS

ALGORITHMS = {name: margins.get(name) for name in margins.available()}
NAMES = list(ALGORITHMS)

# warns      it warns that it has not converged, or that no hyperplane separates the classes
# ends       it ends before max_iter on separable data
# separates  once it has converged, its hyperplane separates the classes
# unscaled   coef_ is the sum of what has been added, and not the best multiple of it
PROPERTIES = """
                          warns  ends  separates  unscaled
adatron                   yes    yes   yes        -
aggressive-romma          yes    yes   yes        -
alma                      yes    yes   yes        -
alpha-bound               -      yes   -          yes
auto                      yes    yes   yes        -
averaged-perceptron       -      yes   -          yes
ballseptron               yes    yes   yes        -
budget-perceptron         -      yes   -          yes
cramma                    yes    yes   yes        -
dcd                       yes    yes   yes        -
lambda-trick              -      yes   -          yes
longest-survivor          -      yes   -          yes
margin-perceptron         yes    yes   yes        -
margitron                 yes    yes   yes        -
micra                     yes    yes   yes        -
mpcs                      yes    yes   yes        -
mpu                       yes    yes   yes        -
mpvs                      yes    yes   yes        -
norma                     -      -     -          yes
pa                        -      -     -          yes
pa-i                      -      -     -          yes
pa-ii                     -      -     -          yes
pam                       -      yes   -          yes
paum                      -      yes   -          yes
pdm                       yes    yes   yes        -
pdm-succ                  yes    yes   yes        -
pegasos                   -      -     yes        -
perceptron                yes    yes   yes        yes
pfm                       yes    yes   yes        -
pocket                    -      yes   -          yes
random-budget-perceptron  -      yes   -          yes
romma                     yes    yes   yes        -
second-order-perceptron   yes    yes   yes        -
servedio-average          -      yes   -          yes
spa                       yes    yes   yes        -
voted-perceptron          -      yes   -          yes
"""
_header, *_rows = map(str.split, PROPERTIES.strip().splitlines())
_table = {name: dict(zip(_header, marks, strict=True)) for name, *marks in _rows}
assert list(_table) == NAMES, "PROPERTIES must have a row for every registered algorithm."


def with_property(column, mark="yes"):
    return [name for name in NAMES if _table[name][column] == mark]


SILENT = with_property("warns", "-")
ENDLESS = with_property("ends", "-")
SEPARATING = with_property("separates")
UNSCALED = with_property("unscaled")


def subclasses(base):
    return [name for name in NAMES if issubclass(ALGORITHMS[name], base)]


# They prove an accuracy, or stop by the rule of their paper.
STOPPING = subclasses(MaximumMarginClassifier)
NOISE_TOLERANT = subclasses(AveragingClassifier)
STEPS = subclasses(StepClassifier)
LINEAR = subclasses(OwnLoopClassifier)  # they have no kernel, and their sums are rounded
ONLINE = [name for name in NAMES if hasattr(ALGORITHMS[name](), "partial_fit")]
VOTING = ["voted-perceptron"]  # the model is a list of mistakes: no coef_, no intercept_
AVERAGE = "servedio-average"  # one sum over the samples, without order or mistakes
WHITENING = "second-order-perceptron"  # predicts with a matrix times the sum of the samples
RULES = {name: rules for name in NAMES if (rules := rules_of(ALGORITHMS[name])) is not None}
# They add whole samples and nothing else, so that sums of integers are exact.
SUMS_OF_SAMPLES = [
    name
    for name, rules in RULES.items()
    if isinstance(rules.update, Additive) and isinstance(rules.shrink, NoShrink)
]
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

each_algorithm = pytest.mark.parametrize("name", NAMES)
each_representative = pytest.mark.parametrize("name", REPRESENTATIVES)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def own_name(name):
    return ALGORITHMS[name].__name__


def shown_name(name, method=None):
    """The name of an algorithm, or of a method of it, in errors."""
    text = own_name(name) + (f".{method}" if method else "")
    return text if name == "auto" else f"{name} ({text})"
