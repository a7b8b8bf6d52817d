"""Runs of several problems over the same samples, which share every pass over them."""

import math
import time

# Samples that one run after the other processes: their rows, or rows of a kernel matrix, stay in the
# cache.
SLICE = 512


def train_in_one_pass(runs, phases):
    """Run one phase of each run, with one common pass over the samples per epoch.

    The runs must process their samples in the same order; results are those of separate runs.

    Parameters
    ----------
    runs : list of Run
    phases : list of Phase
        One for each run, of rules without active sets.
    """
    budget = runs[0].options.time_budget
    end_of_time = math.inf if budget is None else budget.end
    for run in runs:
        run.limit_time(end_of_time)
    active = [(run, run.begin_phase(phase)) for run, phase in zip(runs, phases, strict=True)]
    while active:
        for run, _ in active:
            run.begin_epoch()
        orders = [run.orders.next() for run, _ in active]
        for begin in range(0, len(orders[0]), SLICE):
            for (run, solver), order in zip(active, orders, strict=True):
                run.add(solver.process(run, order[begin : begin + SLICE]))
            if time.perf_counter() >= end_of_time and begin + SLICE < len(orders[0]):
                for run, _ in active:
                    run.add(run.report_of_part())
                break
        remaining = []
        for run, solver in active:
            run.end_epoch(solver.name)
            if not run.ends_phase():
                remaining.append((run, solver))
        active = remaining
    for run in runs:
        run.end_phase()
        run.conclude()
