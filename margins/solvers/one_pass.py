"""Runs of several problems over the same samples, which share every pass over them."""

import math
import time

# Samples that the runs process in turn: their rows, or rows of a kernel matrix, stay in the cache.
SLICE = 512


def train_in_one_pass(runs, phases, end_of_time=math.inf):
    """Run one phase of each run, with one common pass over the samples per epoch.

    Their rules have no active sets, and their orders are the same; so are results as in separate runs.
    """
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
        active = [(run, solver) for run, solver in active if not run.end_epoch()]
    for run in runs:
        run.end_phase()
    return [run.conclude() for run in runs]
