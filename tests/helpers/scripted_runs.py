"""Runs whose solver does nothing, and reports what it is given."""

from problems import two_clouds
from sample_problems import data_of

from margins.losses import HardMargin
from margins.rules import Additive, Mistake, NoShrink, Rules
from margins.solvers.base import EpochReport, Problem, Solver
from margins.solvers.driver import Run
from margins.solvers.specification import Specification

PERCEPTRON = Rules(Mistake(), Additive(), NoShrink())


def run_of(X=None, y=None, loss=None, **options):
    if X is None:
        X, y = two_clouds(distance=3.0)
    loss = HardMargin() if loss is None else loss
    data = data_of(X, y, 1.0, loss.diag if loss.is_smooth else 0.0)
    specification = Specification(**{"max_iter": 50, "keep_dual": True, **options})
    return Run(Problem(data, loss), 0, specification)


class Scripted(Solver):
    """Does nothing to the weight vector, and reports what it is given."""

    name = "scripted"

    def __init__(self, *reports):
        self.reports, self.started = list(reports), 0

    def start(self, run):
        self.started += 1

    def epoch(self, run):
        return self.reports.pop(0)


BUSY = EpochReport(n_changed=1, n_accesses=5)
CLEAN = EpochReport(n_changed=0, n_accesses=5)
GIVES_UP = EpochReport(n_changed=1, n_accesses=5, is_exhausted=True)
