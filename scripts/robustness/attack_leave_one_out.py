"""Random problems and real data against `leave_one_out`: what it proves is compared with real refits.

Problem number i is a function of the seed and of i: few samples, discrete ones with duplicates, contrary
labels, classes of one sample, weights of 0, groups, badly scaled features, more features than samples,
separable ones; or 300 rows of a data set of the folder that MARGINS_DATA names. Both losses, free and
penalised intercepts, C from 1e-4 to 1e4, linear, RBF and polynomial kernels, one-vs-rest and one-vs-one.

Models without a sample or its group are trained to `EPS`: all of a small problem, of a larger one the
unproven ones, those with the smallest margins, and some others. Counted are

    wrong           labels that `leave_one_out` excludes, but a refit predicts: must be 0
    outside         decision values outside the bounds by more than the refit may be inaccurate (known
                    of a penalised intercept): must be 0
    outside_errors  problems whose error by refits is outside the interval: must be 0
    unproven        predictions without a proof

    python scripts/robustness/attack_leave_one_out.py --begin 0 --count 500 --rounds 3
"""

import collections
import functools
import itertools
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import real_data
import reporting

# The accuracy of refits, and of those that contradict a proof: to see which of both is wrong.
EPS, FINER = 1e-8, 1e-12
MAX_TIME = 5.0  # seconds of a refit
# With at most ALL samples, all models are trained; otherwise the unproven ones and SOME others.
ALL, SOME = 40, 12
N_ROWS = 300  # rows of a real data set
MAX_CLASSES = 4


class Problem(NamedTuple):
    """A problem to attack."""

    name: str
    X: object
    y: np.ndarray
    params: dict
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None


def random_params(rng):
    """Draw parameters of a classifier: dict."""
    params = {
        "C": float(10.0 ** rng.uniform(-4, 4)),
        "loss": str(rng.choice(["squared_hinge", "hinge"])),
        "multi_class": str(rng.choice(["ovr", "ovo"])),
    }
    kind = rng.random()
    if kind < 0.35:
        params["penalize_intercept"] = False
    elif kind < 0.5:
        params["fit_intercept"] = False
    elif kind < 0.6:
        params["intercept_scaling"] = float(10.0 ** rng.uniform(-1, 1))
    kind = rng.random()
    if kind < 0.25:
        params |= {"kernel": "rbf", "gamma": float(10.0 ** rng.uniform(-2, 0.5))}
    elif kind < 0.35:
        params |= {"kernel": "poly", "gamma": 0.1, "coef0": 1.0, "degree": 2}
    return params


def random_problem(index, seed=0):
    """Return the Problem with a number; None if it has no two classes or groups."""
    rng = np.random.default_rng([seed, index])
    kind, m, d = rng.integers(7), int(rng.integers(8, 70)), int(rng.integers(1, 12))
    n_classes = int(rng.choice([2, 2, 2, 3, 4]))
    if kind == 0:
        X = rng.normal(size=(m, d))
    elif kind in (1, 2):  # many duplicates
        X = rng.integers(0, 4 - kind, size=(m, d)).astype(float)
    elif kind == 3:
        X = rng.normal(size=(m, 10 * d))
    elif kind == 4:
        X = np.repeat(rng.normal(size=(m // 3 + 1, d)), 3, axis=0)[:m]
    elif kind == 5:
        X = rng.normal(size=(m, d)) * 10.0 ** rng.integers(-2, 3, size=d)
    else:
        X = np.where(rng.random((m, d)) < 0.7, 0.0, np.round(rng.normal(size=(m, d)), 1))
    scores = X @ rng.normal(size=(X.shape[1], n_classes))
    noise = rng.choice([0, 0.5, 3.0]) * np.abs(scores).mean()  # 0: separable
    y = (scores + noise * rng.normal(size=scores.shape)).argmax(axis=1)
    if rng.random() < 0.2:
        y = rng.integers(0, n_classes, m)
    if rng.random() < 0.1:
        y = (np.arange(m) < rng.integers(1, 3)).astype(int)
    params, weight, groups = random_params(rng), None, None
    if rng.random() < 0.25:
        weight = rng.choice([0, 0.5, 1, 3], m, p=[0.1, 0.3, 0.3, 0.3])
    if rng.random() < 0.2:
        groups = rng.integers(0, max(2, m // 3), m)
    present = y if weight is None else y[weight > 0]
    if len(np.unique(present)) < 2 or (groups is not None and len(np.unique(groups)) < 2):
        return None
    X = sparse.csr_array(X) if rng.random() < 0.3 else X
    return Problem(f"problem {index}", X, y, params, weight, groups)


@functools.lru_cache(maxsize=1)
def _pool(name):
    """Return a data set with its labels; 3,000 rows if it is very large."""
    data = real_data.load(name)
    rows = np.sort(np.random.default_rng(0).permutation(len(data.y))[:3000])
    return data.X[rows], data.y[rows]


def real_problem(name, number, seed=0):
    """Return a Problem of 300 rows of a data set, of the classes with the most samples."""
    rng = np.random.default_rng([seed, number, *name.encode()])
    X, y = _pool(name)
    classes, counts = np.unique(y, return_counts=True)
    frequent = np.flatnonzero(np.isin(y, classes[np.argsort(-counts)[:MAX_CLASSES]]))
    rows = rng.permutation(frequent)[:N_ROWS]
    X, y = X[rows], y[rows]
    if rng.random() < 0.8:  # the others as they come
        largest = np.maximum(
            np.abs(X).max(axis=0).toarray() if sparse.issparse(X) else np.abs(X).max(0), 1e-9
        )
        X = sparse.csr_matrix(X.multiply(1 / largest)) if sparse.issparse(X) else X / largest
    return Problem(f"{name} {number}", X, y, random_params(rng))


class Refits:
    """Real refits of a problem without samples or groups."""

    def __init__(self, problem):
        self.problem = problem
        self.groups = np.arange(len(problem.y)) if problem.groups is None else problem.groups

    def training_set(self, number):
        """Return X, y and weights without the group of a sample, and without samples of weight 0."""
        is_in, weight = self.groups != self.groups[number], self.problem.weight
        if weight is not None:
            is_in &= weight > 0
        rows = np.flatnonzero(is_in)
        return self.problem.X[rows], self.problem.y[rows], None if weight is None else weight[rows]

    def fit(self, X, y, weight, eps):
        """Return a fitted MarginClassifier."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return margins.MarginClassifier(
                eps=eps, max_time=MAX_TIME, max_iter=10**6, **self.problem.params
            ).fit(X, y, weight)

    def without(self, number, eps=EPS):
        """Return the classifier without the group of a sample; of one class its label, of none None."""
        X, y, weight = self.training_set(number)
        present = np.unique(y)
        if len(present) < 2:
            return present[0] if len(present) else None
        return self.fit(X, y, weight, eps)


def numbers_of(result, rng):
    """Return the samples whose models are trained: ndarray of int."""
    m = len(result.y)
    if m <= ALL:
        return np.arange(m)
    closest = np.argsort(np.abs(result.margins))[: SOME // 2]
    return np.unique(
        np.concatenate([np.flatnonzero(~result.is_proven), closest, rng.permutation(m)[: SOME // 2]])
    )


def attack(problem):
    """Compare the result for one problem with refits: counts and faults (list of str)."""
    counts, faults, refits = collections.Counter(problems=1), [], Refits(problem)
    classifier = margins.MarginClassifier(**problem.params)
    result = margins.leave_one_out(
        classifier, problem.X, problem.y, problem.weight, groups=problem.groups
    )
    counts.update(
        samples=len(problem.y), proven=int(result.is_proven.sum()), refits_of_ours=result.n_refits
    )
    counts["unproven"] = len(problem.y) - counts["proven"]
    numbers = numbers_of(result, np.random.default_rng(0))
    n_wrong = 0
    for number in numbers:
        predicted, false = _compared(problem, result, refits, number, counts)
        faults += false
        n_wrong += predicted != problem.y[number]
    own = result.possible[numbers, np.searchsorted(result.classes, problem.y[numbers])]
    certain = int(np.sum(~own)), int(np.sum(result.possible[numbers].sum(axis=1) > own))
    if not certain[0] <= n_wrong <= certain[1]:
        counts["outside_errors"] += 1
        faults.append(f"{problem.name}: {n_wrong} errors of {len(numbers)}, proven {certain}")
    return counts, faults


def _compared(problem, result, refits, number, counts):
    """Return the label that a refit predicts of a sample, and what it contradicts: list of str."""
    model = refits.without(number)
    where, allowed = f"{problem.name}, sample {number}", result.classes[result.possible[number]]
    if not isinstance(model, margins.MarginClassifier):
        counts["compared"] += 1
        label = problem.y[number] if model is None else model
        is_wrong = bool(model is not None and (len(allowed) != 1 or allowed[0] != model))
        counts["wrong"] += is_wrong
        return label, [f"{where}: must be {model!r}. Got {allowed}"] * is_wrong
    point = problem.X[[number]]
    label = model.predict(point)[0]
    if label not in allowed:
        model = refits.without(number, FINER)
        label = model.predict(point)[0]
    counts["compared" if model.converged_ else "not converged"] += 1
    if not model.converged_:
        return label if label in allowed else allowed[0], []
    faults = []
    if label not in allowed:
        counts["wrong"] += 1
        faults.append(
            f"{where}: {label!r} is not in {allowed}; decision {model.decision_function(point)}, "
            f"bounds {result.bounds[..., number]}, {problem.params}"
        )
    if len(result.classes) == 2 and "penalize_intercept" not in problem.params:
        value = float(model.decision_function(point)[0])
        low, high = result.bounds[:, number]
        inaccuracy = _inaccuracy(problem, model, number)
        counts["bounds"] += 1
        if not low - inaccuracy <= value <= high + inaccuracy:
            counts["outside"] += 1
            faults.append(
                f"{where}: {value!r} is not in [{low!r}, {high!r}] within {inaccuracy:.3g}, "
                f"{problem.params}"
            )
    return label, faults


def _inaccuracy(problem, model, number):
    """Bound the error of a decision value by |x| |w - w*|; half of |w - w*|^2 is at most the gap."""
    params, point = problem.params, problem.X[[number]]
    point = point.toarray()[0] if sparse.issparse(point) else point[0]
    sqnorm = float(point @ point)
    if params.get("kernel") == "rbf":
        sqnorm = 1.0
    elif params.get("kernel") == "poly":
        sqnorm = (params["gamma"] * sqnorm + params["coef0"]) ** params["degree"]
    if params.get("fit_intercept", True):
        sqnorm += params.get("intercept_scaling", 1.0) ** 2
    certificate = model.certificates_[0]
    gap = max(certificate.primal - certificate.dual, 0.0) + 1e-14 * certificate.primal
    return np.sqrt(2 * sqnorm * gap)


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = reporting.numbered_problems(__doc__, 200)
    parser.add_argument("--rounds", type=int, default=1, help="problems of each real data set")
    options = parser.parse_args(arguments)
    n_faults, start, seed = 0, time.perf_counter(), options.seed
    numbers = range(options.begin, options.begin + options.count)
    pairs = itertools.product(real_data.available(), range(options.rounds))
    kinds = {
        "random": (random_problem(index, seed) for index in numbers),
        "real": (real_problem(name, number, seed) for name, number in pairs),
    }
    for kind, problems in kinds.items():
        counts = collections.Counter()
        for problem in filter(None, problems):
            new, faults = attack(problem)
            counts += new
            n_faults += len(faults)
            for fault in faults:
                print(fault, flush=True)
        if counts:
            print(f"{kind}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"false: {n_faults}, in {time.perf_counter() - start:.0f} s")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
