"""Tables 3, 4 and 7 of Khardon & Wachman (2007): what they print, and our numbers beside it.

Accuracies are in percent.
"""

import math
import statistics
from collections import Counter

import numpy as np
import reporting

SOURCE = "Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm, JMLR 8"
FOLDS = 10
FEATURES, MARGIN = 50, 0.05  # of the artificial data

# The first value of each switches the parameter off.
GRIDS = {
    "tau": (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0),
    "lam": (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0),
    "alpha_bound": (math.inf, 80, 60, 40, 20, 10, 5),
}

# A column: the parameters that are chosen, stage after stage.
COLUMNS = {
    "nothing": (),
    "tau": (("tau",),),
    "lambda": (("lam",),),
    "alpha": (("alpha_bound",),),
    "tau-x-lambda": (("tau", "lam"),),
    "tau-x-alpha": (("tau", "alpha_bound"),),
    "tau-then-lambda": (("tau",), ("lam",)),
}
SEARCHED = ("nothing", "tau", "lambda", "alpha", "tau-x-lambda", "tau-x-alpha")
OPTIMIZED = ("nothing", "tau", "lambda", "tau-x-lambda", "tau-then-lambda")

# eta and epochs; those of `search` for Tables 3 and 4, those of `optimization` for Table 7.
DEFAULT_RUN = {"eta": 0.1, "max_iter": 100}
SEARCH_RUNS = {"mnist": {"eta": 1.0, "max_iter": 1}}
OPTIMIZATION_RUNS = {"usps": {"eta": 0.1, "max_iter": 10}, "mnist": {"eta": 1.0, "max_iter": 1}}

# data set -> readout -> accuracies of SEARCHED, the best of the active values of the grids.
TABLE_3 = {
    "breast-cancer-wisconsin": {
        "last": (90.6, 96.8, 97.2, 96.9, 97.3, 97.2),
        "longest": (96.9, 97.0, 97.2, 97.0, 97.3, 97.2),
        "voted": (96.9, 96.8, 97.2, 96.9, 97.3, 97.2),
    },
    "bupa": {
        "last": (57.5, 71.8, 64.1, 69.2, 71.5, 67.8),
        "longest": (64.1, 58.2, 64.8, 68.4, 60.9, 61.2),
        "voted": (68.9, 65.9, 67.7, 70.7, 67.4, 66.0),
    },
    "wdbc": {
        "last": (92.4, 93.2, 92.8, 93.3, 93.9, 92.6),
        "longest": (92.4, 93.2, 92.6, 92.4, 92.8, 92.8),
        "voted": (92.3, 92.0, 93.2, 92.4, 93.2, 92.4),
    },
    "crx": {
        "last": (62.5, 68.6, 65.5, 66.7, 69.0, 66.7),
        "longest": (55.1, 63.6, 65.5, 63.5, 65.5, 65.2),
        "voted": (64.9, 65.4, 65.5, 66.7, 65.5, 66.4),
    },
    "promoters": {
        "last": (78.8, 92.8, 82.1, 78.8, 94.4, 93.8),
        "longest": (78.8, 92.8, 82.1, 78.8, 94.4, 94.4),
        "voted": (78.8, 93.4, 82.1, 78.8, 94.4, 93.8),
    },
    "ionosphere": {
        "last": (86.6, 87.5, 86.9, 87.7, 88.6, 87.2),
        "longest": (87.2, 87.5, 87.8, 88.0, 88.3, 87.7),
        "voted": (88.0, 87.7, 87.5, 88.6, 88.9, 87.5),
    },
    "wpbc": {
        "last": (77.3, 76.4, 80.6, 76.9, 79.0, 76.4),
        "longest": (77.2, 76.4, 77.4, 78.5, 76.9, 76.4),
        "voted": (78.8, 76.4, 80.6, 77.4, 78.5, 76.4),
    },
    "sonar": {
        "last": (71.9, 74.6, 72.5, 77.1, 75.8, 79.1),
        "longest": (75.3, 77.1, 73.3, 77.2, 77.7, 78.7),
        "voted": (75.1, 77.2, 73.8, 77.1, 78.7, 77.7),
    },
    "usps": {
        "last": (91.5, 94.1, 90.4, 92.8, 94.3, 94.1),
        "longest": (86.9, 93.9, 90.4, 92.0, 93.9, 93.9),
        "voted": (93.5, 94.2, 93.4, 93.6, 94.3, 94.3),
    },
    "mnist": {
        "last": (85.2, 89.2, 85.2, None, 89.2, None),
        "longest": (81.7, 88.6, 81.7, None, 88.6, None),
        "voted": (90.2, 90.6, 90.2, None, 90.6, None),
    },
}

# noise -> readout -> accuracies of SEARCHED.
TABLE_4 = {
    0.0: {
        "last": (95.4, 97.0, 95.6, 96.1, 96.8, 97.0),
        "longest": (95.4, 96.6, 95.6, 95.9, 97.3, 96.8),
        "voted": (95.4, 96.6, 95.4, 96.1, 96.8, 97.0),
    },
    0.05: {
        "last": (81.7, 89.4, 87.0, 89.5, 89.7, 89.9),
        "longest": (86.6, 89.7, 87.0, 89.3, 89.9, 89.9),
        "voted": (87.5, 89.4, 87.0, 89.5, 89.7, 90.2),
    },
    0.1: {
        "last": (77.8, 84.6, 81.9, 85.1, 84.9, 85.8),
        "longest": (77.2, 84.9, 81.9, 85.1, 84.6, 85.5),
        "voted": (81.6, 84.9, 81.9, 85.1, 84.9, 85.6),
    },
    0.15: {
        "last": (71.2, 81.6, 79.9, 80.6, 81.6, 81.7),
        "longest": (72.9, 80.7, 79.9, 79.2, 80.7, 81.7),
        "voted": (75.6, 81.6, 79.9, 80.6, 82.1, 81.6),
    },
    0.25: {
        "last": (59.9, 70.7, 68.2, 70.7, 71.1, 71.1),
        "longest": (65.0, 70.7, 68.2, 70.1, 70.4, 70.6),
        "voted": (68.0, 70.4, 69.4, 70.7, 70.6, 71.1),
    },
}

# (data set, kernel) -> readout -> accuracies of OPTIMIZED, as many as printed, on the test set.
TABLE_7 = {
    ("usps", "linear"): {
        "last": (87.4, 90.7, 87.4, 90.3, 90.2),
        "longest": (87.5, 89.9, 87.4, 90.3, 89.9),
        "voted": (89.7, 90.9, 89.6, 90.9, 90.9),
    },
    ("mnist", "linear"): {
        "last": (85.6, 87.1, 85.5, 87.1, 87.1),
        "longest": (79.8, 86.8, 79.8, 86.8, 86.8),
        "voted": (88.0, 88.4, 88.0, 88.4, 88.4),
    },
    ("usps", "poly"): {
        "last": (92.9, 93.6),
        "longest": (91.6, 92.9),
        "voted": (92.7, 93.2),
    },
    ("mnist", "poly"): {
        "last": (95.2, 95.4),
        "longest": (93.2, 94.9),
        "voted": (94.8, 95.0),
    },
}

POINTS = 3  # a difference from the paper that is larger than that is marked
TITLES = ["column, readout", *reporting.paired("accuracy"), "+-", "ours -|paper", "", "chosen"]
LEGEND = f"""\
accuracy: percent.   +-: standard deviation over the repeats.   chosen: the most frequent choice.
*: more than {POINTS} points from the paper's.   *~: so too, but the paper's is among our repeats'."""


def rows_of(found, published, columns):
    """What is reported: a dict for every column and readout."""
    rows = []
    for column, readout in found[0]:
        settings, outcomes = zip(*(each[column, readout] for each in found), strict=True)
        accuracies, fits, predictions = zip(*outcomes, strict=True)
        ours = statistics.fmean(accuracies)
        paper = dict(zip(columns, published[readout], strict=False)).get(column)
        difference = None if paper is None else ours - paper
        names = [name for name in GRIDS if any(name in stage for stage in COLUMNS[column])]
        chosen = [dict(zip(GRIDS, setting, strict=True)) for setting in settings]
        rows.append(
            {
                "column": column,
                "readout": readout,
                "paper": None if paper is None else {"accuracy": paper},
                "accuracy": ours,
                "accuracies": list(accuracies),
                "deviation": statistics.stdev(accuracies) if len(accuracies) > 1 else None,
                "difference": difference,
                "mark": mark_of(accuracies, paper),
                "chosen": [{name: each[name] for name in names} for each in chosen],
                "fit_seconds": statistics.fmean(fits),
                "predict_seconds": statistics.fmean(predictions),
            }
        )
    return rows


def mark_of(accuracies, paper):
    """What is put beside accuracies whose mean is not near the paper's accuracy (None: no such)."""
    if paper is None or round(abs(statistics.fmean(accuracies) - paper), 6) <= POINTS:
        return ""
    return "*~" if min(accuracies) <= paper <= max(accuracies) else "*"


def ordering(rows):
    """Whether the voted perceptron is at least as accurate as the last hypothesis: dict, or None."""
    plain = {row["readout"]: row for row in rows if row["column"] == "nothing"}
    if not plain:
        return None
    pairs = zip(plain["voted"]["accuracies"], plain["last"]["accuracies"], strict=True)
    signs = [np.sign(voted - last) for voted, last in pairs]
    return {
        "holds": plain["voted"]["accuracy"] >= plain["last"]["accuracy"],
        "better": signs.count(1),
        "equal": signs.count(0),
        "worse": signs.count(-1),
    }


def chosen_text(row):
    """The values that were chosen most often, the first of equals."""
    ((choice, _),) = Counter(tuple(each.values()) for each in row["chosen"]).most_common(1)
    return ", ".join(f"{value:g}" for value in choice)


def cells(row):
    """One line of a table."""
    paper, deviation, difference = row["paper"], row["deviation"], row["difference"]
    return [
        f"{row['column']}, {row['readout']}",
        "-" if paper is None else f"{paper['accuracy']:.1f}",
        f"{row['accuracy']:.1f}",
        "-" if deviation is None else f"{deviation:.1f}",
        "-" if difference is None else f"{difference:+.1f}",
        row["mark"],
        chosen_text(row),
    ]


def text(result):
    """The report of one block."""
    run, rows = result["run"], result["rows"]
    given = ", ".join(f"{name} = {value}" for name, value in run.items())
    titles, lines = TITLES, list(map(cells, rows))
    if result["table"] == 7:
        titles = [*TITLES, "fit|s", "predict|s"]
        for line, row in zip(lines, rows, strict=True):
            line += [reporting.number(row[name], 2) for name in ("fit_seconds", "predict_seconds")]
    said = [
        f"\nTable {result['table']}, {result['data']}: {result['n_samples']} x {result['n_features']}, "
        f"{given}",
        "",
        reporting.table(titles, lines),
    ]
    if result.get("peak_megabytes"):
        said += [f"Peak memory of the process so far: {result['peak_megabytes']:.0f} MB"]
    if order := result.get("ordering"):
        said += [
            f"voted >= last on average: {'yes' if order['holds'] else 'NO'}; of the data sets voted is "
            f"better in {order['better']}, equal in {order['equal']}, worse in {order['worse']}"
        ]
    return "\n".join(said)


def summary(results):
    """How many of all numbers are marked, and whether Table 4 has the paper's order."""
    differences = [
        row["difference"]
        for result in results
        for row in result["rows"]
        if row["difference"] is not None
    ]
    if not differences:
        return "\nNone of the numbers is in the paper."
    marks = [row["mark"] for result in results for row in result["rows"] if row["mark"]]
    mean, distance = statistics.fmean(differences), statistics.fmean(map(abs, differences))
    said = [
        f"\n{len(marks)} of {len(differences)} accuracies are more than {POINTS} points from the "
        f"paper's, {marks.count('*')} of them on one side of it in all repeats. "
        f"Mean of ours - paper: {mean:+.1f}, of its absolute value: {distance:.1f}."
    ]
    orders = [result for result in results if result.get("ordering")]
    wrong = [result["data"] for result in orders if not result["ordering"]["holds"]]
    if orders:
        said += [
            "Table 4, voted >= last on average: " + (f"not at {', '.join(wrong)}" if wrong else "always")
        ]
    return "\n".join(said)
