"""What Khardon & Wachman leave open, and how many cells each reading explains.

    MARGINS_DATA=folder python scripts/papers/paper_readings.py

draws part of Tables 2 to 5 and 7 under every reading that docs/papers.json does not hold yet. Each
differs from Figure 2, on data whose discarded samples are replaced, in one respect or in two.
"""

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
from noise_tolerance import Draws, Reading
from paper_results import FILE, WITHIN, Results, Verdict
from runs import ADULT_RUN, FEATURES, FOLDS, MARGIN, NOISE, PUBLISHED, SINGLE, cells_of, present

DRAWS = 8
N_SAMPLES, LARGEST = 600, 10
LARGEST_SCORE = 10.0  # scores as large as a spread of 0 would give are cut off
REAL = tuple(name for name in PUBLISHED["3"] if name not in ("usps", "mnist"))
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
    """Return the artificial data with one thing changed: X, y.

    `share` is theta in units of the mean of |w.x|. If not `replaced`, samples that are discarded are not
    replaced. `by_attribute`: w is 0 or 1, by a coin for each attribute. With `sign` -1, the label is the
    sign of w.x + theta.
    """
    generator = np.random.default_rng(seed)

    def draw():
        return generator.integers(-LARGEST, LARGEST + 1, (N_SAMPLES, n_features)).astype(float)

    pool = draw()
    heads = generator.integers(2, size=n_features if by_attribute else N_SAMPLES)
    w = heads.astype(float) if by_attribute else heads @ pool
    mean = float(np.abs(pool @ w).mean())
    theta, nearest = sign * share * mean, margin * mean / 2
    X = pool[np.abs(pool @ w - theta) >= nearest]
    while replaced and len(X) < N_SAMPLES:
        batch = draw()
        X = np.concatenate([X, batch[np.abs(batch @ w - theta) >= nearest]])
    X = X[:N_SAMPLES]
    y = np.where(X @ w > theta, 1, -1)
    y[generator.uniform(size=len(y)) < noise] *= -1
    return X, y


def reading(**changed):
    """Return a reading that differs from Figure 2 in some fields."""
    return Reading(**{"generate": halfspace, "lambda_of_eta": False} | changed)


def generated(**changed):
    """Return a reading of the artificial data."""
    return reading(generate=partial(halfspace, **changed))


def swapped(X, y):
    """Exchange the classes: the threshold begins on the other side."""
    classes, codes = np.unique(y, return_inverse=True)
    return X, classes[::-1][codes]


def in_unit_range(X, y):
    """Scale every feature to [0, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1), y


def missing_as_zero(X, y):
    """Write 0 for missing values: the mean of their column, the only fraction among integers."""
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
# What is drawn: by table, its readings and its data sets.
KINDS = {
    "Table 2": ({FIGURE_2: OF_ALL[FIGURE_2]} | OF_NOISY, NOISY),
    "Table 4": (OF_ALL | OF_NOISY, NOISY),
    "Table 3": (OF_ALL | OF_REAL, REAL),
    "Table 5": (OF_ADULT, ("adult",)),
    "Table 7, mnist": (OF_MNIST, ("mnist, linear",)),
    "Table 7, usps": (OF_USPS, ("usps, linear",)),
}


def explained(one, table, names, n_draws):
    """Return cells within, cells, and the mean of |paper - mean| in units of the spread: list."""
    draws, columns = Draws(reading=one), SINGLE[:1] if table == 7 else SINGLE
    drawn = {name: [draws.draw(table, name, seed, columns) for seed in range(n_draws)] for name in names}
    verdicts = [
        Verdict(cell.paper, [values[cell.name] for values in drawn[cell.row[0]]], cell.rounding)
        for cell in cells_of(table)
        if cell.row[0] in names and (table in (2, 5) or cell.row[1] in columns)
    ]
    scores = [min(abs(verdict.score or 0.0), LARGEST_SCORE) for verdict in verdicts]
    within = sum(verdict.word == WITHIN for verdict in verdicts)
    return [within, len(verdicts), round(statistics.fmean(scores), 2)]


def main(argv=None):
    """Draw the readings that the results do not hold yet."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N")
    parser.add_argument("--results", type=Path, default=FILE, metavar="FILE")
    arguments = parser.parse_args(argv)
    results = Results(arguments.results)
    warnings.simplefilter("ignore", ConvergenceWarning)
    for title, (readings, names) in KINDS.items():
        names = [name for name in names if present(name)]
        known = results.readings.setdefault(title, {})
        for what, one in readings.items() if names else ():
            if what not in known:
                counts = explained(one, int(title[6]), names, arguments.draws)
                known[what] = [arguments.draws, *counts]
                results.save()
                print(f"{title}, {what}: {counts}", flush=True)


if __name__ == "__main__":
    main()
