"""The blocks of Khardon & Wachman's tables and figures: which studies they need, row by row."""

import itertools
import sys

import numpy as np
from noise_tolerance_data import (
    NOISE,
    all_artificial,
    artificial,
    data,
    part_of,
    permuted,
    present,
)
from noise_tolerance_report import HALF_PER_DEVIATION, compared, ordering, relations, row_of
from noise_tolerance_studies import AVERAGINGS, SVM_ITERATIONS, sizes_of
from noise_tolerance_tables import (
    ADULT_RUN,
    COLUMNS,
    DEFAULT_RUN,
    OPTIMIZATION_RUNS,
    OPTIMIZED,
    POLY,
    SEARCH_RUNS,
    SEARCHED,
    SIZES,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_6_SVM,
    TABLE_7,
)

from margins.model_selection import t_interval

try:
    import resource
except ImportError:  # Windows has none
    resource = None

QUICK_SETS = {"n_features": (50,), "margins": (0.05, 0.75)}  # of Table 2
LOSSES = {"svm-l1": "hinge", "svm-l2": "squared_hinge"}


def data_sets(name, seeds):
    """The data of every repeat, permuted: list of (X, y)."""
    if name.startswith(NOISE):
        return [permuted(*artificial(float(name.removeprefix(NOISE)), seed), seed) for seed in seeds]
    X, y = data(name)
    return [permuted(X, y, seed) for seed in seeds]


def columns_of(arguments, those):
    """Pairs of a requested column and an averaging."""
    return itertools.product((each for each in those if each in arguments.columns), AVERAGINGS)


def published_in(table, columns):
    """(averaging, column) -> what the paper prints: a function that returns dict, or None."""

    def published(averaging, column):
        value = dict(zip(columns, table[averaging], strict=False)).get(column)
        return None if value is None else {"accuracy": value}

    return published


def dominated(name, arguments, seeds, studies):
    """Table 2, a level of noise: dict."""
    noise, run = float(name.removeprefix(NOISE)), run_of(DEFAULT_RUN, arguments)
    sets = list(all_artificial(noise, arguments.seed, **(QUICK_SETS if arguments.quick else {})))
    means = [
        studies.averagings(permuted(X, y, seeds[0]), run).tables[0].mean_scores().tolist()
        for X, y in sets
    ]
    return {
        **{"table": 2, "data": name, "run": run, "n_sets": len(sets), "accuracies": means},
        **{"relations": np.sum([relations(each) for each in means], axis=0).tolist()},
        "paper": list(TABLE_2[noise]),
    }


def searched(name, arguments, seeds, studies):
    """Tables 3 and 4, a data set: dict."""
    sets, run = data_sets(name, seeds), run_of(SEARCH_RUNS.get(name, DEFAULT_RUN), arguments)
    noisy = name.startswith(NOISE)
    printed = TABLE_4[float(name.removeprefix(NOISE))] if noisy else TABLE_3[name]
    published = published_in(printed, SEARCHED)
    rows = [
        row_of(
            [studies.search(data, column, averaging, run) for data in sets],
            *(column, averaging, published(averaging, column)),
        )
        for column, averaging in columns_of(arguments, SEARCHED)
        # What the paper did not run (alpha on mnist) is not run either.
        if not (name == "mnist" and published(averaging, column) is None)
    ]
    found = result_of(4 if noisy else 3, name, sets[0], run, rows)
    return found | ({"ordering": ordering(rows)} if noisy else {})


def by_size(name, arguments, seeds, studies):
    """Table 5: dict, with rows of tau (in the column), size and averaging."""
    (data, *_), run = data_sets(name, seeds[:1]), run_of(ADULT_RUN, arguments)
    rows = []
    for size in sizes_of(data, arguments.folds):
        (table,) = studies.margins(data, run, size).tables
        for setting, scores in zip(table.settings, table.scores["accuracy"], strict=True):
            tau, averaging = setting["tau"], setting["averaging"]
            accuracy, deviation = (each[SIZES.index(size)] for each in TABLE_5[tau][averaging])
            paper = {"accuracy": accuracy, "half_width": HALF_PER_DEVIATION * deviation}
            percent = (100 * scores).tolist()
            rows.append(
                {
                    **compared([float(np.mean(percent))], [t_interval(percent)], paper),
                    **{"column": f"{size}, tau = {tau:g}", "size": size, "tau": tau},
                    **{"averaging": averaging, "deviation": 100 * float(np.std(scores)), "chosen": []},
                }
            )
    return result_of(5, name, data, run, rows)


def doubly_validated(name, arguments, seeds, studies):
    """Table 6, a data set: dict."""
    sets, run = data_sets(name, seeds), run_of(DEFAULT_RUN, arguments)
    rows = []
    for column, averaging in columns_of(arguments, COLUMNS):
        printed = (numbers[list(COLUMNS).index(column)] for numbers in TABLE_6[name][averaging])
        found = [studies.double(data, column, averaging, run) for data in sets]
        rows.append(
            row_of(found, column, averaging, dict(zip(("accuracy", "half_width"), printed, strict=True)))
        )
    for index, (column, loss) in enumerate(LOSSES.items()):
        if column in arguments.columns and name in TABLE_6_SVM:
            iterations = SVM_ITERATIONS // (100 if arguments.quick else 1)
            found = [studies.svm(data, loss, iterations) for data in sets]
            accuracy, half = TABLE_6_SVM[name][index]
            rows.append(row_of(found, column, "svm", {"accuracy": accuracy, "half_width": half}))
            rows[-1]["chosen"] = [study.best_params for study in found]
    return result_of(6, name, sets[0], run, rows)


def optimized(name, arguments, seeds, studies):
    """Table 7, a data set and a kernel: dict."""
    data, kernel = name.split(", ")
    printed = TABLE_7[data, kernel]
    published = published_in(printed, OPTIMIZED)
    run = run_of(OPTIMIZATION_RUNS[data], arguments)
    if kernel == "poly":
        run |= POLY | {"gamma": arguments.gamma, "coef0": arguments.coef0}
    train, test = part_of(data, "train", kernel), part_of(data, "test", kernel)
    share = arguments.share if arguments.choose == "hold-out" else None
    rows = [
        row_of(
            [
                studies.optimization(permuted(*train, seed), test, column, averaging, run, share)
                for seed in seeds
            ],
            *(column, averaging, published(averaging, column)),
        )
        for column, averaging in columns_of(arguments, OPTIMIZED[: len(printed["last"])])
    ]
    return {**result_of(7, name, train, run, rows), "peak_megabytes": peak_megabytes()}


def run_of(run, arguments):
    """eta and max_iter of a block: dict."""
    return run | ({"max_iter": arguments.epochs} if arguments.epochs else {})


def result_of(table, name, data, run, rows):
    """What every block reports: dict."""
    n_samples, n_features = data[0].shape
    sizes = {"n_samples": n_samples, "n_features": n_features}
    return {"table": table, "data": name, **sizes, "run": run, "rows": rows}


def peak_megabytes():
    """The peak memory of the process so far, or None if the system does not provide it: float."""
    if resource is None:
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def drawn(number, arguments, seeds, studies, results):
    """Draw Figure 3 or 4: what is to be said about it, str."""
    try:
        import noise_tolerance_figures as figures
    except ImportError as error:
        return f"No Figure {number}: matplotlib cannot be imported ({error})."
    if number == 3:
        run, by_noise = run_of(DEFAULT_RUN, arguments), {}
        for noise in arguments.noise:
            (data,) = data_sets(f"{NOISE}{noise:g}", seeds[:1])
            by_noise[noise] = studies.margins(data, run)
        figure = figures.figure_3(by_noise)
        return f"Figure 3: {figures.save(figure, number, arguments.out)}"
    known = [result for result in results if result["table"] == 5]
    if not known and not present("adult"):
        return "No Figure 4: the files of adult are not present."
    (result,) = known or [by_size("adult", arguments, seeds, studies)]
    return f"Figure 4: {figures.save(figures.figure_4(result), number, arguments.out)}"


REPRODUCE = {2: dominated, 3: searched, 4: searched, 5: by_size, 6: doubly_validated, 7: optimized}
