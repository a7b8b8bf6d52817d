"""Runs of several problems over the same samples, which share every pass over them."""

# How many samples all runs access before the next ones: what these need (their rows, or rows of a kernel
# matrix) is still in a cache then.
SLICE = 512


def train_in_one_pass(runs, phases):
    """Play one phase of each run, all in one pass over the samples an epoch.

    The runs must access their samples in the same order: then each ends as it does alone.

    Parameters
    ----------
    runs : list of Run
    phases : list of Phase
        One for each run, of rules without active sets.
    """
    playing = [(run, run.begin_phase(phase)) for run, phase in zip(runs, phases, strict=True)]
    while playing:
        for run, _ in playing:
            run.begin_epoch()
        orders = [run.orders.next() for run, _ in playing]
        for begin in range(0, len(orders[0]), SLICE):
            for (run, solver), order in zip(playing, orders, strict=True):
                run.add(solver.process(run, order[begin : begin + SLICE]))
        still = []
        for run, solver in playing:
            run.end_epoch(solver.name)
            if not run.ends_phase():
                still.append((run, solver))
        playing = still
    for run in runs:
        run.end_phase()
        run.conclude()
