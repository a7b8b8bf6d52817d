"""Measured numbers beside those of Khardon & Wachman: rows for programs, tables for readers.

Accuracies are in percent. A measured interval is the 95 % T interval of footnote 5 over the folds; where
there is one test set, that of a proportion (normal approximation); with several repeats, the mean of
theirs. The paper prints intervals in Table 6, deviations that give them in Table 5, and none elsewhere:
there only its number has to be within the measured interval.
"""

import math
import statistics
from collections import Counter

import numpy as np
import reporting
from noise_tolerance_tables import COLUMNS, FOLDS, GRIDS, RELATIONS

NORMAL = 1.96  # 97.5 % quantile
# Footnote 5 of the paper: half a T interval over ten folds, in units of the standard deviation whose
# square is a mean, not an unbiased estimate.
HALF_PER_DEVIATION = 2.262 / math.sqrt(FOLDS - 1)
TITLES = [
    *("column, averaging", *reporting.paired("accuracy"), *reporting.paired("+-")),
    *("ours -|paper", "", "chosen"),
]
LEGEND = """\
accuracy: percent.   +-: half of the 95 % T interval over the folds (Table 7: of a proportion). It knows
nothing of other orders of access, or of other artificial data: --repeats shows them.
*: our interval does not overlap the paper's (or does not hold its number, where it prints no interval).
chosen: the most frequent choice."""


def interval_of(study):
    """Ends of the 95 % interval of a study's accuracy, in percent: list of float."""
    if len(study.folds) > 1:
        return [100 * end for end in study.interval()]
    mean, n_samples = study.mean(), len(study.folds[0].test)
    half = NORMAL * math.sqrt(mean * (1 - mean) / n_samples)
    return [100 * max(mean - half, 0.0), 100 * min(mean + half, 1.0)]


def row_of(studies, column, averaging, published=None):
    """What is reported of a cell.

    Parameters
    ----------
    studies : list of Study
        The repeats.
    column, averaging : str
    published : dict, optional
        The paper's "accuracy" and, where it has one, "half_width".

    Returns
    -------
    dict
    """
    names = [name for name in GRIDS if any(name in stage for stage in COLUMNS.get(column, ()))]
    choices = [
        {name: fold.best_params.get(name, GRIDS[name][0]) for name in names}
        for study in studies
        for fold in study.folds
    ]
    return {
        **compared([100 * study.mean() for study in studies], map(interval_of, studies), published),
        "column": column,
        "averaging": averaging,
        "chosen": choices,
        "fit_seconds": statistics.fmean(fold.fit_time for study in studies for fold in study.folds),
        "score_seconds": statistics.fmean(fold.score_time for study in studies for fold in study.folds),
        "lockstep": studies[0].lockstep,
    }


def compared(accuracies, intervals, published):
    """An accuracy, its interval, and whether they agree with the paper's: dict."""
    accuracy = statistics.fmean(accuracies)
    interval = [statistics.fmean(ends) for ends in zip(*intervals, strict=True)]
    return {
        "paper": published,
        "accuracy": accuracy,
        "accuracies": accuracies,
        "interval": interval,
        "difference": None if published is None else accuracy - published["accuracy"],
        "overlaps": None if published is None else overlap(interval, published),
    }


def overlap(interval, published):
    """True if a measured interval and the paper's have a point in common."""
    half = published.get("half_width", 0.0)
    low, high = published["accuracy"] - half, published["accuracy"] + half
    # The paper's numbers are rounded to the nearest tenth, so is the last digit that counts here.
    return round(interval[0], 1) <= round(high, 1) and round(low, 1) <= round(interval[1], 1)


def relations(means):
    """For accuracies (last, longest, voted) of a data set: which of RELATIONS hold, list of bool."""
    last, longest, voted = (round(mean, 9) for mean in means)  # means of folds: ties are exact
    return [
        *(voted > last, voted > longest, longest > last),
        *(longest > voted, last > longest, last > voted, voted == longest == last),
    ]


def ordering(rows):
    """Whether the voted perceptron is at least as accurate as the last hypothesis: dict, or None."""
    plain = {row["averaging"]: row for row in rows if row["column"] == "nothing"}
    if not {"last", "voted"} <= set(plain):
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
    if not row["chosen"]:
        return ""
    ((choice, _),) = Counter(tuple(each.values()) for each in row["chosen"]).most_common(1)
    return ", ".join(f"{value:g}" for value in choice)


def cells(row):
    """One line of a table."""
    paper, (low, high) = row["paper"] or {}, row["interval"]

    def tenths(value, sign=""):
        return "-" if value is None or math.isnan(value) else f"{value:{sign}.1f}"

    return [
        f"{row['column']}, {row['averaging']}",
        tenths(paper.get("accuracy")),
        tenths(row["accuracy"]),
        tenths(paper.get("half_width")),
        tenths((high - low) / 2),
        tenths(row["difference"], "+"),
        "*" if row["overlaps"] is False else "",
        chosen_text(row),
    ]


def text(result):
    """The report of one block."""
    head = f"\nTable {result['table']}, {result['data']}"
    if "relations" in result:
        pairs = zip(result["paper"], result["relations"], strict=True)
        numbers = [["-" if number is None else str(number) for number in pair] for pair in pairs]
        line = [result["data"], *(number for pair in numbers for number in pair)]
        titles = ["", *reporting.paired(*RELATIONS)]
        return f"{head}: {result['n_sets']} data sets\n\n{reporting.table(titles, [line])}"
    given = ", ".join(f"{name} = {value}" for name, value in result["run"].items())
    titles, lines = TITLES, list(map(cells, result["rows"]))
    if result["table"] == 7:
        titles = [*TITLES, "fit|s", "score|s"]
        for line, row in zip(lines, result["rows"], strict=True):
            line += [reporting.number(row[name], 2) for name in ("fit_seconds", "score_seconds")]
    said = [
        f"{head}: {result['n_samples']} x {result['n_features']}, {given}",
        "",
        reporting.table(titles, lines),
    ]
    if result.get("peak_megabytes"):
        said += [f"Peak memory of the process so far: {result['peak_megabytes']:.0f} MB"]
    if order := result.get("ordering"):
        said += [
            f"voted >= last on average: {'yes' if order['holds'] else 'NO'}; of the repeats voted is "
            f"better in {order['better']}, equal in {order['equal']}, worse in {order['worse']}"
        ]
    return "\n".join(said)


def summary(results):
    """How many of all intervals overlap the paper's, by table, and which do not."""
    said = [""]
    for table in sorted({result["table"] for result in results}):
        rows = [
            (result["data"], row)
            for result in results
            if result["table"] == table
            for row in result.get("rows", ())
            if row["overlaps"] is not None
        ]
        if not rows:
            continue
        apart = [
            f"  {data}, {row['column']}, {row['averaging']}: {row['difference']:+.1f}"
            for data, row in rows
            if not row["overlaps"]
        ]
        mean = statistics.fmean(row["difference"] for _, row in rows)
        said += [
            f"Table {table}: {len(rows) - len(apart)} of {len(rows)} overlap the paper's; mean of ours "
            f"- paper: {mean:+.1f}." + (" Apart:" if apart else ""),
            *apart,
        ]
    orders = [result for result in results if result.get("ordering")]
    wrong = [result["data"] for result in orders if not result["ordering"]["holds"]]
    if orders:
        said += [
            "Table 4, voted >= last on average: " + (f"not at {', '.join(wrong)}" if wrong else "always")
        ]
    return "\n".join(said)
