"""The penalty l1 against LinearSVC: docs/tuning.md.

    MARGINS_DATA=... python scripts/benchmarks/benchmark_penalties.py [--only a9a pcmac] [--shares 0.1]

The problem of ``LinearSVC(penalty="l1", dual=False)``: squared hinge loss, a penalised intercept,
features divided by their largest absolute value, one problem for each class. C is the smallest of a
grid with which a share of the features has a weight, or its largest, 10. LinearSVC has the largest
tolerance of `TOLS` whose models are within the gap, by our dual values. Seconds are processor time,
the least of several fits.
"""

import argparse
import math
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import real_data

import margins

GAP, SHARES = 1e-4, (0.01, 0.1, 0.5)
CS = 10.0 ** np.arange(-4, 1.25, 0.25)
TOLS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
SETS = (
    *("a9a", "w8a", "spambase", "pcmac", "basehock", "relathe", "news20", "sector"),
    *("duke", "colon-cancer", "arcene", "madelon"),
)
PATIENCE = 60  # seconds: LinearSVC gets no smaller tolerance after a longer fit


def fitted(model, X, y):
    """Return a fitted model and the least processor seconds of up to three fits."""
    least = math.inf
    for _ in range(3):
        begin = time.process_time()
        model.fit(X, y)
        least = min(least, time.process_time() - begin)
        if least > 1:
            break
    return model, least


def ours(C, gap=GAP):
    eps = 1 - 1 / math.sqrt(1 + gap)  # of the squared hinge loss
    return margins.MarginClassifier(penalty="l1", C=C, eps=eps)


def penalty_for(X, y, share):
    """Return the C for a share of the features, and the share that has a weight for some class."""
    for C in CS:
        coef = ours(C, 1e-2).fit(X, y).coef_
        used = np.count_nonzero(coef.any(axis=0)) / X.shape[1]
        if used >= share:
            break
    return float(C), used


def is_within(model, X, y, C, certificates):
    """Return whether the objective of LinearSVC is within the gap for every class."""
    scores = model.decision_function(X).reshape(len(y), -1)
    for k, certificate in enumerate(certificates):
        signs = np.where(y == model.classes_[k if len(certificates) > 1 else 1], 1.0, -1.0)
        slacks = np.maximum(1 - signs * scores[:, k], 0)
        norm = np.abs(model.coef_[k]).sum() + abs(np.ravel(model.intercept_)[k])
        if norm + C * (slacks @ slacks) > (1 + GAP) * certificate.dual:
            return False
    return True


def seconds_of_linear_svc(X, y, C, certificates):
    """Return the seconds of the largest tolerance within the gap, and it; inf and None without one."""
    for tol in TOLS:
        model = LinearSVC(penalty="l1", dual=False, C=C, tol=tol, max_iter=10**5, random_state=0)
        model, seconds = fitted(model, X, y)
        if is_within(model, X, y, C, certificates):
            return seconds, tol
        if seconds > PATIENCE:
            break
    return math.inf, None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=SETS)
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios = []
    for name in arguments.only:
        data = real_data.load(name)
        X, y, seen = MaxAbsScaler().fit_transform(data.X), data.y, None
        for share in arguments.shares:
            C, used = penalty_for(X, y, share)
            if seen == C:
                continue
            seen = C
            model, seconds = fitted(ours(C), X, y)
            gap = max(certificate.gap for certificate in model.certificates_)
            theirs, tol = seconds_of_linear_svc(X, y, C, model.certificates_)
            ratios.append(seconds / theirs)
            print(
                f"{name:14} C={C:8.3g} {100 * used:5.1f} % gap {gap:.1e} {seconds:8.4f} s, "
                f"LinearSVC {theirs:8.4f} s (tol={tol}): {ratios[-1]:.3f}",
                flush=True,
            )
    print(f"median {statistics.median(ratios):.3f}, largest {max(ratios):.3f}, of {len(ratios)}")


if __name__ == "__main__":
    main()
