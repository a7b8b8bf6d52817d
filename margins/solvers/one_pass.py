"""Runs of several problems over the same patterns, which share every pass over them."""

from margins._activeset import ActiveSets

# How many patterns all runs are shown before the next ones: what these patterns need (their rows, or
# rows of a kernel matrix) is still in a cache then.
SLICE = 512


def train_in_one_pass(runs, stages):
    """Play one stage of each run, all in one pass over the patterns an epoch.

    The runs must present their patterns in the same order: then each ends as it does alone.

    Parameters
    ----------
    runs : list of Run
    stages : list of Stage
        One for each run, without active sets.
    """
    playing = [
        (run, stage, ActiveSets((), len(run.patterns))) for run, stage in zip(runs, stages, strict=True)
    ]
    while playing:
        for run, _, _ in playing:
            run.begin_epoch()
        orders = [run.orders.next() for run, _, _ in playing]
        for begin in range(0, len(orders[0]), SLICE):
            for (run, stage, sets), order in zip(playing, orders, strict=True):
                run.present(stage, sets, order[begin : begin + SLICE])
        for run, _, _ in playing:
            run.end_epoch()
            if run.clean:
                run.trouble = None  # a callback that stopped it came too late
            elif run.trouble is None and run.n_epochs == run.max_iter:
                run.out_of_epochs()
        playing = [item for item in playing if not item[0].clean and item[0].trouble is None]
    for run in runs:
        run.conclude()
