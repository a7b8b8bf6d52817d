"""What Khardon & Wachman leave open, and how many cells each reading explains.

    MARGINS_DATA=folder python scripts/papers/paper_readings.py

draws part of Tables 2 to 5 and 7 under every reading that docs/papers.json does not hold yet. Each
differs from Figure 2, on data whose discarded samples are replaced, in one respect or in two.
"""

import argparse
import statistics
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting
from noise_tolerance_data import NOISE, present
from noise_tolerance_draws import Draws, Reading
from noise_tolerance_tables import ADULT_RUN, FEATURES, FOLDS, MARGIN, TABLE_3
from paper_cells import cells_of
from paper_plan import SINGLE
from paper_results import FILE, Results
from paper_verdicts import WITHIN, Verdict

DRAWS = 8
N_SAMPLES, LARGEST = 600, 10
REAL = tuple(name for name in TABLE_3 if name not in ("usps", "mnist"))
NOISY = tuple(f"{NOISE}{noise:g}" for noise in (0.0, 0.1, 0.25))


def halfspace(
    noise,
    seed,
    n_features=FEATURES,
    margin=MARGIN,
    *,
    share=0.5,
    replaced=True,
    by_attribute=False,
    sign=1,
):
    """The artificial data with one thing changed: X, y.

    Parameters
    ----------
    noise : float
    seed : int
    n_features : int
    margin : float
    share : float
        theta in units of the mean of |w.x|.
    replaced : bool
        False: samples that are discarded are not replaced.
    by_attribute : bool
        True: w is 0 or 1, by a coin for each attribute.
    sign : int
        -1: the label is the sign of w.x + theta.
    """
    generator = np.random.default_rng(seed)

    def draw():
        return generator.integers(-LARGEST, LARGEST + 1, (N_SAMPLES, n_features)).astype(float)

    pool = draw()
    heads = generator.integers(2, size=n_features if by_attribute else N_SAMPLES)
    w = heads.astype(float) if by_attribute else heads @ pool
    mean = float(np.abs(pool @ w).mean())
    theta, nearest = sign * share * mean, margin * mean / 2
    kept = pool[np.abs(pool @ w - theta) >= nearest]
    while replaced and len(kept) < N_SAMPLES:
        batch = draw()
        kept = np.concatenate([kept, batch[np.abs(batch @ w - theta) >= nearest]])
    X = kept[:N_SAMPLES]
    y = np.where(X @ w > theta, 1, -1)
    y[generator.uniform(size=len(y)) < noise] *= -1
    return X, y


def reading(**changed):
    """One that differs from Figure 2 in some fields: Reading."""
    return Reading(**{"generate": halfspace, "lambda_of_eta": False} | changed)


def generated(**changed):
    """A reading of the artificial data."""
    return reading(generate=partial(halfspace, **changed))


def swapped(X, y):
    """The classes exchanged: the threshold begins on the other side."""
    classes, codes = np.unique(y, return_inverse=True)
    return X, classes[::-1][codes]


def in_unit_range(X, y):
    """Every feature from 0 to 1."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1), y


def missing_as_zero(X, y):
    """0 for missing values, which are the mean of their column: among integers the only fraction."""
    X = X.copy()
    for column in X.T:
        is_fraction = column % 1 != 0
        if len(np.unique(column[is_fraction])) == 1:
            column[is_fraction] = 0
    return X, y


FIGURE_2 = "Figure 2"
OF_ALL = {
    FIGURE_2: reading(),
    "lambda in units of eta": reading(lambda_of_eta=True),
    "samples permuted before every epoch": reading(shuffle="epochs"),
    "folds with equal shares of the classes": reading(folds=StratifiedKFold(FOLDS)),
    "the classes exchanged": reading(prepare=swapped),
}
OF_REAL = {
    "missing values 0 instead of the mean": reading(prepare=missing_as_zero),
    "features scaled to [0, 1]": reading(prepare=in_unit_range),
}
OF_NOISY = {
    "discarded samples not replaced": generated(replaced=False),
    "threshold 0": generated(share=0.0),
    "threshold the mean of abs(w.x)": generated(share=1.0),
    "label the sign of w.x + theta": generated(sign=-1),
    "w by a coin for each attribute": generated(by_attribute=True),
    "not replaced, threshold the mean of abs(w.x)": generated(replaced=False, share=1.0),
    "not replaced, label the sign of w.x + theta": generated(replaced=False, sign=-1),
}
OF_ADULT = {
    f"eta = {eta:g}": reading(run_of_adult=ADULT_RUN | {"eta": eta})
    for eta in (ADULT_RUN["eta"], 0.2, 0.1)
}


OF_USPS = {
    "all training samples": reading(),
    **{f"{size:,} training samples": reading(largest=size) for size in (5_000, 2_500)},
}
OF_MNIST = OF_USPS | {"10,000 training samples": reading(largest=10_000)}


def explained(one, table, names, n_draws):
    """Cells within, cells, and the mean of |paper - mean| in units of the spread: list."""
    draws, columns = Draws(reading=one), SINGLE[:1] if table == 7 else SINGLE
    found = {name: [draws.draw(table, name, seed, columns) for seed in range(n_draws)] for name in names}
    verdicts = [
        Verdict(cell.paper, [each[cell.name] for each in found[cell.row[0]]], cell.rounding)
        for cell in cells_of(table)
        if cell.row[0] in names and (table in (2, 5) or cell.row[1] in columns)
    ]
    # Scores as large as a spread of 0 would give are cut off.
    scores = [min(abs(verdict.score or 0.0), 10.0) for verdict in verdicts]
    within = sum(verdict.word == WITHIN for verdict in verdicts)
    return [within, len(verdicts), round(statistics.fmean(scores), 2)]


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--results", type=Path, default=FILE, metavar="FILE", help="default: %(default)s"
    )
    arguments = parser.parse_args(argv)
    results = Results(arguments.results)
    kinds = (
        ("Table 2", {FIGURE_2: OF_ALL[FIGURE_2]} | OF_NOISY, NOISY),
        ("Table 4", OF_ALL | OF_NOISY, NOISY),
        ("Table 3", OF_ALL | OF_REAL, REAL),
        ("Table 5", OF_ADULT, ("adult",)),
        ("Table 7, mnist", OF_MNIST, ("mnist, linear",)),
        ("Table 7, usps", OF_USPS, ("usps, linear",)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for title, readings, names in kinds:
            there = [name for name in names if present(name.split(",")[0])]
            known = results.readings.setdefault(title, {})
            for what, one in readings.items() if there else ():
                if what in known:
                    continue
                counts = explained(one, int(title[6]), there, arguments.draws)
                known[what] = [arguments.draws, *counts]
                results.save()
                reporting.Progress(0).print(f"{title}, {what}: {counts}")


if __name__ == "__main__":
    main()
