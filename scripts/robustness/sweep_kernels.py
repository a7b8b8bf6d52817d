"""A sweep of small, ill-conditioned kernel problems: which fits are not proven, and how long fits take.

Problem number i is a function of the seed and of i: up to 300 rows of a data set of scikit-learn, blobs,
integers, or one-hot rows with contrary duplicates, raw or standardized; an rbf or polynomial kernel with
a degree, gamma and coef0; C from 1e-3 to 1e9; hinge or squared hinge loss; the intercept penalised or
free. It prints the fits that `MarginClassifier` leaves unproven, with the solvers that prove them, and
those that take more than three times the processor time of `SVC` for the same matrix, loss and C, with
the largest tolerance at which its gap is as small.

    python scripts/robustness/sweep_kernels.py --seed 0 --count 2000
"""

import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import margins
from margins.losses import Hinge, SquaredHinge
from margins.solvers.decomposition.decomposition import relative_gap

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

EPS = 1e-3
# Those that may prove what the planned ones do not.
SOLVERS = ("interior-point", "decomposition", "conjugate")
MAX_TIME = 10.0  # seconds of a fit
MAX_ITER = 1_000_000  # for SVC, which may never reach its tolerance
LARGEST_C = 1e300  # SVC has no hard margin
LARGEST_DUAL = 1e100  # beyond, it has diverged
SLOW = 3.0  # a ratio of times that is reported
# The fastest of several fits counts; this is the limit of their total seconds.
MIN_SECONDS = 0.02


@dataclass
class Problem:
    """Samples of two classes, and what both classifiers are to do with them."""

    name: str
    X: np.ndarray
    y: np.ndarray
    kernel: dict
    C: float
    loss: str
    penalize_intercept: bool

    def __str__(self):
        kernel = ", ".join(f"{key}={value}" for key, value in self.kernel.items())
        intercept = "penalised" if self.penalize_intercept else "free"
        return f"{self.name}, {kernel}, C={self.C:g}, {self.loss}, intercept {intercept}"

    def fit(self, solver="auto"):
        """Return a fitted MarginClassifier."""
        params = {"loss": self.loss, "C": self.C, "penalize_intercept": self.penalize_intercept}
        params |= {"eps": EPS, "solver": solver, "max_time": MAX_TIME, **self.kernel}
        return margins.MarginClassifier(**params).fit(self.X, self.y)

    def matrix(self):
        """Return the kernel matrix."""
        return pairwise_kernels(self.X, metric=self.kernel["kernel"], filter_params=True, **self.kernel)

    def fit_svc(self, tol):
        """Return a fitted SVC; the squared hinge loss is a diagonal of the kernel matrix."""
        if self.loss == "hinge":
            return SVC(C=self.C, tol=tol, max_iter=MAX_ITER, **self.kernel).fit(self.X, self.y)
        matrix = self.matrix()
        matrix[np.diag_indices_from(matrix)] += 1 / (2 * self.C)
        return SVC(C=LARGEST_C, kernel="precomputed", tol=tol, max_iter=MAX_ITER).fit(matrix, self.y)

    def _loss(self):
        return Hinge(self.C) if self.loss == "hinge" else SquaredHinge(self.C)

    @property
    def required_gap(self):
        """Return the relative duality gap that proves the accuracy."""
        return self._loss().required_gap(EPS)

    def gap_of_svc(self, fitted):
        """Return the relative duality gap of an SVC."""
        loss = self._loss()
        signs = np.where(self.y, 1.0, -1.0)
        coefficients = np.zeros(len(signs))
        coefficients[fitted.support_] = fitted.dual_coef_[0]
        alpha = signs * coefficients
        if not np.abs(alpha).max(initial=0) < LARGEST_DUAL:
            return np.inf
        products = self.matrix() @ coefficients
        margins = signs * (products + loss.best_intercept(products, signs.astype(np.int8)))
        sqnorm, square = float(coefficients @ products), float(np.sum(loss.diag * alpha**2))
        return relative_gap(loss, margins, sqnorm, alpha.sum() - 0.5 * sqnorm - 0.5 * square)

    def seconds_of_svc(self):
        """Return processor seconds of SVC at the largest tolerance that proves as much, or inf."""
        for tol in 10.0 ** -np.arange(3, 13):
            begin = time.process_time()
            try:
                fitted, seconds = timed(lambda tol=tol: self.fit_svc(tol))
            except ValueError:  # it has diverged
                break
            if self.gap_of_svc(fitted) <= self.required_gap:
                return seconds
            if time.process_time() - begin > MAX_TIME:
                break
        return np.inf


def one_hot(rng):
    n_levels, m = int(rng.integers(3, 30)), int(rng.integers(20, 300))
    return np.eye(n_levels)[rng.integers(0, n_levels, m)], rng.random(m) < rng.choice([0.1, 0.4])


def integers(rng):
    m, d = int(rng.integers(4, 60)), int(rng.integers(1, 4))
    return rng.integers(80, 130, (m, d)).astype(float), rng.random(m) < 0.5


def far_away(rng):
    m, d = int(rng.integers(10, 100)), int(rng.integers(1, 8))
    X = rng.normal(size=(m, d))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=m) > 0
    return float(rng.choice([1, 10, 100])) + 0.1 * X, y


def blobs(rng):
    X, y = make_blobs(int(rng.integers(20, 300)), centers=10, random_state=int(rng.integers(1000)))
    return X, y == rng.integers(10)


def sampled(load):
    """Return a function that draws samples of a data set, one of its classes against the rest."""

    def make(rng):
        X, y = load(return_X_y=True)
        rows = rng.choice(len(X), min(len(X), int(rng.integers(30, 301))), replace=False)
        return X[rows], y[rows] == rng.choice(y)

    return make


SETS = {
    "iris": sampled(load_iris),
    "wine": sampled(load_wine),
    "breast cancer": sampled(load_breast_cancer),
    "digits": sampled(load_digits),
    "blobs": blobs,
    "one-hot": one_hot,
    "integers": integers,
    "far away": far_away,
}


def problem_of(seed, number):
    """Return the Problem with a number; None if only one class has been drawn."""
    rng = np.random.default_rng((seed, number))
    name = str(rng.choice(list(SETS)))
    X, y = SETS[name](rng)
    if rng.random() < 0.5:
        X, name = StandardScaler().fit_transform(X), f"{name} standardized"
    kernel = {"kernel": str(rng.choice(["rbf", "poly"]))}
    scale = 1 / (X.shape[1] * float(X.var()) or 1.0)
    kernel["gamma"] = float(rng.choice([scale, 0.1 * scale, 10 * scale, 1.0, 0.01]))
    if kernel["kernel"] == "poly":
        kernel["degree"] = int(rng.choice([1, 2, 3, 5]))
        kernel["coef0"] = float(rng.choice([0.0, 1.0]))
    C = float(10.0 ** rng.integers(-3, 10))
    loss = str(rng.choice(["hinge", "squared_hinge"]))
    problem = Problem(f"{name} {X.shape}", X, y, kernel, C, loss, bool(rng.random() < 0.5))
    return problem if 0 < np.count_nonzero(y) < len(y) else None


def timed(fit):
    """Return the last result of a function, and the least processor seconds of a call."""
    begin, least = time.process_time(), np.inf
    while time.process_time() - begin < MIN_SECONDS:
        result, seconds = reporting.timed(fit)
        least = min(least, seconds)
    return result, least


def warm_up(seed):
    """Import what fits import, so that none of them is timed with it."""
    problem = next(filter(None, (problem_of(seed, number) for number in range(100))))
    for solver in ("auto", *SOLVERS):
        proves(problem, solver)
    problem.seconds_of_svc()


def main():
    """Print the fits without a proof and the slow ones, and what share they are."""
    options = reporting.numbered_problems(__doc__, 2000).parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    ratios, n_unproven, n_provable = [], 0, 0
    warm_up(options.seed)
    for number in range(options.begin, options.begin + options.count):
        problem = problem_of(options.seed, number)
        if problem is None:
            continue
        try:
            fitted, ours = timed(problem.fit)
        except ValueError as error:
            print(f"{number}: {problem}: {type(error).__name__}: {error}", flush=True)
            n_unproven += 1
            continue
        theirs = problem.seconds_of_svc()
        ratios.append(ours / theirs)
        (certificate,) = fitted.certificates_
        if not np.isfinite(fitted.decision_function(problem.X)).all():
            print(f"{number}: {problem}: scores are not finite", flush=True)
        if not fitted.converged_:
            n_unproven += 1
            others = [name for name in SOLVERS if proves(problem, name)]
            n_provable += bool(others)
            print(
                f"{number}: {problem}: gap {certificate.gap:.2g} by {fitted.solver_}, {ours:.3f} s; "
                f"proven by {', '.join(others) or 'none'}",
                flush=True,
            )
        elif ratios[-1] > SLOW:
            print(
                f"{number}: {problem}: {ours:.4f} s by {fitted.solver_}, SVC {theirs:.4f} s, "
                f"ratio {ratios[-1]:.2g}",
                flush=True,
            )
    percents = [10, 25, 50, 75, 90, 99, 100]
    shares = ", ".join(f"{share:.3g}" for share in np.percentile(ratios, percents))
    print(f"{len(ratios)} fits; unproven {n_unproven}, of which another solver proves {n_provable}")
    print(f"time relative to SVC, percentiles {percents}: {shares}")
    print(f"slower than {SLOW:g} times SVC: {np.count_nonzero(np.array(ratios) > SLOW)}")


def proves(problem, solver):
    """Return True if a solver proves the accuracy."""
    try:
        return bool(problem.fit(solver).converged_)
    except ValueError:
        return False


if __name__ == "__main__":
    main()
