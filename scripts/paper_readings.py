"""What Khardon & Wachman leave open, and how many cells each reading explains.

    MARGINS_DATA=folder python scripts/paper_readings.py

draws part of Tables 3 and 4 under every reading that docs/papers.json does not hold yet. Each differs
from Figure 2 in one respect. The tables are drawn with the one that explains most cells of both.
"""

import argparse
import statistics
import warnings
from pathlib import Path

import numpy as np
import reporting
from noise_tolerance_data import NOISE, present
from noise_tolerance_draws import Draws, Reading
from noise_tolerance_studies import AVERAGINGS
from noise_tolerance_tables import FEATURES, FOLDS, MARGIN, SEARCHED, TABLE_3, TABLE_4
from paper_plan import SINGLE
from paper_results import FILE, Results
from paper_verdicts import WITHIN, Verdict
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

DRAWS = 8
N_SAMPLES, LARGEST = 600, 10
REAL = tuple(name for name in TABLE_3 if name not in ("usps", "mnist"))
NOISY = tuple(f"{NOISE}{noise:g}" for noise in (0.0, 0.1, 0.25))


def halfspace(noise, seed, *, share=0.5, refill=True, by_attribute=False, sign=1):
    """The artificial data with one thing changed: X, y.

    Parameters
    ----------
    noise : float
    seed : int
    share : float
        theta in units of the mean of |w.x|.
    refill : bool
        False: samples that are discarded are not replaced.
    by_attribute : bool
        True: w is 0 or 1, by a coin for each attribute.
    sign : int
        -1: the label is the sign of w.x + theta.
    """
    generator = np.random.default_rng(seed)

    def draw():
        return generator.integers(-LARGEST, LARGEST + 1, (N_SAMPLES, FEATURES)).astype(float)

    pool = draw()
    heads = generator.integers(2, size=FEATURES if by_attribute else N_SAMPLES)
    w = heads.astype(float) if by_attribute else heads @ pool
    mean = float(np.abs(pool @ w).mean())
    theta, nearest = sign * share * mean, MARGIN * mean / 2
    kept = pool[np.abs(pool @ w - theta) >= nearest]
    while refill and len(kept) < N_SAMPLES:
        batch = draw()
        kept = np.concatenate([kept, batch[np.abs(batch @ w - theta) >= nearest]])
    X = kept[:N_SAMPLES]
    y = np.where(X @ w > theta, 1, -1)
    y[generator.uniform(size=len(y)) < noise] *= -1
    return X, y


def reading(**changed):
    """One that differs from Figure 2 in some fields: Reading."""
    return Reading(**{"lambda_of_eta": False} | changed)


def generated(**changed):
    """A reading of the artificial data."""
    return reading(generate=lambda noise, seed: halfspace(noise, seed, **changed))


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


OF_ALL = {
    "Figure 2": reading(),
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
    "discarded samples not replaced": generated(refill=False),
    "threshold 0": generated(share=0.0),
    "threshold the mean of abs(w.x)": generated(share=1.0),
    "label the sign of w.x + theta": generated(sign=-1),
    "w by a coin for each attribute": generated(by_attribute=True),
}


def explained(one, names, n_draws):
    """Cells within, cells, and the mean of |paper - mean| in units of the spread: list."""
    draws, verdicts = Draws(reading=one), []
    for name in names:
        noisy = name.startswith(NOISE)
        printed = TABLE_4[float(name.removeprefix(NOISE))] if noisy else TABLE_3[name]
        found = [draws.draw(4 if noisy else 3, name, seed, SINGLE) for seed in range(n_draws)]
        for averaging in AVERAGINGS:
            papers = dict(zip(SEARCHED, printed[averaging], strict=True))
            verdicts += [
                Verdict(papers[column], [each[f"{column}, {averaging}"] for each in found])
                for column in SINGLE
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
    kinds = {
        "Table 4": (OF_ALL | OF_NOISY, NOISY),
        "Table 3": (OF_ALL | OF_REAL, [name for name in REAL if present(name)]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for table, (readings, names) in kinds.items():
            known = results.readings.setdefault(table, {})
            for what, one in readings.items():
                if what in known:
                    continue
                counts = explained(one, names, arguments.draws)
                known[what] = [arguments.draws, *counts]
                results.save()
                reporting.Progress(0).print(f"{table}, {what}: {counts}")


if __name__ == "__main__":
    main()
