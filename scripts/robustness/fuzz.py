"""Fits and predictions of random data, valid and damaged, for a limited time.

python scripts/robustness/fuzz.py [--minutes 5] [--seed 0]

Every call must return, or raise a ValueError of a whole sentence, and what SciPy calls invalid must be
rejected. A case in which anything else happens is printed with the seed that repeats it, and the exit
status is 1. Reads and writes beyond an array show on a build with sanitizers:
`scripts/robustness/sanitize.py`.
"""

import copy
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse

import margins

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))

import malformed
import reporting

NAMES = margins.available()
KERNELS = ("linear", "rbf", "poly", "precomputed")
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = reporting.parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    outcomes, seed, failed = Counter(), options.seed, 0
    while time.monotonic() < end:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcomes[run_case(seed)] += 1
        except Exception:
            failed += 1
            print(f"--seed {seed}\n{traceback.format_exc()}", flush=True)
        seed += 1
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:7} {outcome}")
    print(f"{seed - options.seed} cases, {failed} failed")
    return 1 if failed else 0


def run_case(seed):
    """Fit an estimator to random data, predict, and return what came of it: str."""
    rng = np.random.default_rng(seed)
    X, y = random_data(rng)
    name = rng.choice(NAMES)
    classifier = random_classifier(rng, name)
    if getattr(classifier, "kernel", "") == "precomputed":
        X = X @ X.T
    is_damaged = rng.random() < 0.4
    stored = random_damage(rng, X) if is_damaged else random_storage(rng, X)
    online = hasattr(classifier, "partial_fit") and rng.random() < 0.3
    try:
        if online:
            for begin in range(0, len(y), 7):
                rows = slice(begin, begin + 7)
                part = stored if is_damaged else random_storage(rng, X[rows])
                classifier.partial_fit(part, y if is_damaged else y[rows], classes=np.unique(y))
        else:
            weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(y)) if rng.random() < 0.3 else None
            if rng.random() < 0.2 and hasattr(classifier, "explain"):
                classifier.explain(stored, y, weight)
            classifier.fit(random_storage(rng, X) if rng.random() < 0.5 else stored, y, weight)
        classifier.predict(stored)
        classifier.decision_function(random_storage(rng, X))
    except ValueError as error:
        if is_damaged:
            return "damaged, refused"
        # Valid data may be rejected by a sentence: one class left, a zero row and C=inf, ...
        if not str(error).endswith(".") or "broadcast" in str(error):
            raise
        return "valid, refused"
    if is_damaged:
        copy.copy(stored).check_format(full_check=True)  # SciPy's: its ValueError was ours to raise
        return "damaged, still valid"
    return "valid, fitted"


def random_data(rng):
    """Draw small X and y, of at least two classes, with zeros, ties and empty rows."""
    m, d = int(rng.integers(2, 40)), int(rng.choice([1, 2, 3, 4, 5, 8, 17, 64, 300]))
    if rng.random() < 0.5:
        X = rng.integers(-2, 3, (m, d)).astype(float)
    else:
        X = rng.normal(size=(m, d)) * 10.0 ** rng.integers(-3, 4)
    X[rng.random((m, d)) < rng.choice([0.0, 0.5, 0.9, 0.99])] = 0
    if rng.random() < 0.2:
        X = (X != 0).astype(float)
    if rng.random() < 0.2:
        X[rng.integers(m)] = X[0]
    y = rng.integers(0, int(rng.choice([2, 2, 2, 3, 5])), m)
    y[0], y[-1] = 0, 1
    return X, y


def random_classifier(rng, name):
    """Return an estimator of few epochs, with some parameters chosen at random."""
    algorithm = margins.get(name)
    known = algorithm().get_params()
    params = {"random_state": int(rng.integers(1000)), "max_iter": int(rng.choice([1, 3, 30]))}
    params["C"] = float(rng.choice([1e-3, 1.0, 1e3]))
    params["max_time"] = 1.0  # an epoch of updates in active sets may take long
    choices = {
        "fit_intercept": [True, False],
        "eps": [1e-1, 1e-3, 1e-6],
        "solver": ["auto", "newton", "interior-point", "conjugate", "unlearning", "dcd"],
        "averaging": ["last", "longest", "voted", "averaged", "pocket", "tail"],
        "lam": [0.0, 0.5],
        "alpha_bound": [np.inf, 2],
        "budget": [2, 5],
        "batch_size": [1, 4],
        "n_jobs": [None, 2],
    }
    for key, values in choices.items():
        if key in known and rng.random() < 0.5:
            params[key] = values[int(rng.integers(len(values)))]
    if "kernel" in known and name not in ("alma", "second-order-perceptron") and rng.random() < 0.3:
        params["kernel"] = str(rng.choice(KERNELS))
    if name == "pfm":
        params["gamma"] = 0.1
    if name == "auto" and rng.random() < 0.5:
        params["loss"] = "hinge"
    try:
        classifier = algorithm(**{key: value for key, value in params.items() if key in known})
        classifier.check_parameters()
    except ValueError:  # parameters that are not allowed together
        classifier = algorithm(**({"gamma": 0.1} if name == "pfm" else {}), max_iter=3, random_state=0)
    return classifier


def random_storage(rng, X):
    """Return the same matrix, in some format, dtype, index dtype, order and alignment."""
    X = X.astype(rng.choice([np.float64, np.float32]))
    kind = rng.choice(["dense", *FORMATS])
    if kind == "dense":
        change = rng.choice(["C", "F", "strided", "reversed", "unaligned", "swapped", "read-only"])
        if change == "F":
            return np.asfortranarray(X)
        if change == "strided":
            return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
        if change == "reversed":
            return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
        if change == "unaligned":
            return malformed.unaligned(X)
        if change == "swapped":
            return malformed.swapped(X)
        if change == "read-only":
            X.flags.writeable = False
        return X
    stored = getattr(sparse, f"{kind}_{rng.choice(['array', 'matrix'])}")(X)
    if kind in ("csr", "csc"):
        stored = malformed.with_indices(stored, rng.choice([np.int32, np.int64]))
        if rng.random() < 0.3:
            shuffle_rows(rng, stored)
        if rng.random() < 0.2:
            part = str(rng.choice(["data", "indices", "indptr"]))
            change = malformed.unaligned if rng.random() < 0.5 else malformed.swapped
            setattr(stored, part, change(getattr(stored, part)))
    return stored


def shuffle_rows(rng, X):
    """Change the order in which each row stores its elements, in place."""
    for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
        order = begin + rng.permutation(end - begin)
        X.indices[begin:end], X.data[begin:end] = X.indices[order], X.data[order]
    X.has_sorted_indices = False


def random_damage(rng, X):
    """Return X as CSR or CSC with a fault of `malformed`, or with changed numbers and short arrays."""
    kind = rng.choice(["csr_array", "csr_matrix", "csc_array", "csc_matrix"])
    X = malformed.with_indices(getattr(sparse, kind)(X), rng.choice([np.int32, np.int64]))
    if rng.random() < 0.3 and X.nnz > 12 and X.shape[0] > 5 and X.shape[1] > 5:
        malformed.COMPRESSED[str(rng.choice(list(malformed.COMPRESSED)))][0](X)
        return X
    for _ in range(int(rng.integers(1, 4))):
        part = str(rng.choice(["indices", "indptr", "data"]))
        array = getattr(X, part).copy()
        if rng.random() < 0.3:
            setattr(X, part, array[: int(rng.integers(len(array) + 1))])
        elif part != "data" and len(array):
            limits = np.iinfo(array.dtype)
            numbers = [limits.min, -1, 0, 1, X.shape[0], X.shape[1], len(X.data) + 1, 10**6, limits.max]
            array[int(rng.integers(len(array)))] = numbers[int(rng.integers(len(numbers)))]
            setattr(X, part, array)
    return X


if __name__ == "__main__":
    sys.exit(main())
