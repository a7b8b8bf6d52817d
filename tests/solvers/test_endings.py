"""How runs end: one value for each, and what follows from it."""

import math

import pytest
from scripted_runs import BUSY, CLEAN, GIVES_UP, PERCEPTRON, Scripted, run_of

from margins.losses import SquaredHinge
from margins.solvers.base import Ending, EpochReport, Phase


class Stops:
    """An observer that ends a run at an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def begin_epoch(self, number):
        assert number <= self.epoch

    def end_epoch(self, run):
        outcome = run.outcome()
        assert outcome.ending is None and outcome.message is None and not outcome.converged
        return run.n_epochs == self.epoch

    def end(self):
        pass


UNMOVED = EpochReport(n_changed=0, n_accesses=5, n_rejected=2, n_unmoved=2)


@pytest.mark.parametrize(
    ("reports", "options", "phase", "watch", "ending"),
    [
        ([CLEAN], {}, {}, None, Ending.UNCHANGED),
        ([BUSY, BUSY], {}, {"converged_when": lambda run: run.n_epochs == 2}, None, Ending.UNCHANGED),
        ([BUSY], {"eps": 1.0}, {}, None, Ending.PROVEN),
        ([BUSY, CLEAN], {"eps": 1.0, "needs_clean_pass": True}, {}, None, Ending.PROVEN),
        ([UNMOVED], {}, {}, None, Ending.STANDSTILL),
        ([CLEAN], {"eps": 1e-12}, {}, None, Ending.EXHAUSTED),
        ([BUSY, GIVES_UP], {}, {}, None, Ending.EXHAUSTED),
        ([BUSY, BUSY], {"max_iter": 2}, {}, None, Ending.MAX_ITER),
        ([BUSY, CLEAN], {"max_iter": 2}, {}, None, Ending.UNCHANGED),
        ([BUSY], {"end": 0.0}, {}, None, Ending.MAX_TIME),
        ([CLEAN], {"end": 0.0}, {}, None, Ending.UNCHANGED),
        ([BUSY, BUSY], {}, {}, Stops(2), Ending.CALLBACK),
        ([CLEAN], {}, {}, Stops(1), Ending.UNCHANGED),  # it was late
        ([BUSY], {}, {"infeasible": lambda run: "no such margin"}, None, Ending.INFEASIBLE),
        ([CLEAN], {}, {"infeasible": lambda run: "no such margin"}, None, Ending.UNCHANGED),
    ],
)
def test_a_run_has_one_ending_that_says_whether_it_converged(reports, options, phase, watch, ending):
    options = dict(options)
    end = options.pop("end", math.inf)
    run = run_of(loss=SquaredHinge(1.0), max_time=1.0, **options)
    run.limit_time(end)
    run._watch = watch
    solver = Scripted(*reports)
    solver.rules = PERCEPTRON
    outcome = run.train([Phase(solver=solver, **phase)])
    assert outcome.ending is ending
    assert (
        outcome.converged is (ending in (Ending.PROVEN, Ending.UNCHANGED)) is (outcome.message is None)
    )
    messages = {
        Ending.STANDSTILL: "2 samples below the upper bound of the dual variable are misclassified by "
        "Mistake(), and Additive(eta=1, most=inf) does not move the weight vector",
        Ending.EXHAUSTED: "the algorithm ended before its accuracy was proven",
        Ending.MAX_ITER: "max_iter=2 full epochs came first",
        Ending.MAX_TIME: "max_time=1 seconds came first",
        Ending.CALLBACK: "a callback stopped it",
        Ending.INFEASIBLE: "no such margin",
    }
    assert outcome.message == messages.get(ending)
