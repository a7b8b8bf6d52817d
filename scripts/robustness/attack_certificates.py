"""Adversarial problems against certificates: every bound is compared with exact arithmetic.

Problem number i is a function of the seed and of i: few samples with ties, duplicates of contrary
labels, empty and dense rows, subnormal numbers, features and samples of very different sizes, weights
over twenty orders of magnitude; linear or with a kernel, with the hard margin, the squared hinge or the
hinge loss. It is trained by `MarginClassifier` with one solver, by one algorithm that proves an
accuracy, and by one that does not, for a few epochs or to the end. Of the model returned, in rational
arithmetic:

    primal       is the objective at `coef_` and `intercept_` (or at the combination of support vectors;
                 values of an RBF kernel are rounded, and so may differ from exact ones)
    dual         exceeds no objective found: of any model, of w = 0, of an interior-point solution
    margin       belongs to the best multiple of the model, and `upper_bound` to the dual value
    dual_coef_   is feasible

    python scripts/robustness/attack_certificates.py --begin 0 --count 1000
"""

import argparse
import collections
import functools
import math
import sys
import time
import warnings
from fractions import Fraction

import numpy as np
from attack_problems import Problem, problem_of, reference
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.estimators.custom import OwnLoopClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.rules import RuleError
from margins.solvers.auto import SOLVERS as SOLVER_NAMES

# The rounding error that the documentation of `Certificate` allows.
TOLERANCE = 1e-9

SOLVERS = ("auto", *SOLVER_NAMES)

# The algorithms for linear data with a free intercept.
FREE_SOLVERS = ("auto", "auto", "newton", "conjugate")

# Seconds of a fit: an accuracy of 1e-6 can take the rules of a paper 1e10 updates.
MAX_TIME = 2.0


@functools.cache
def proving_algorithms():
    """The algorithms that prove an accuracy, MarginClassifier excepted: list of str."""
    return [
        name for name in margins.available() if issubclass(margins.get(name), MaximumMarginClassifier)
    ]


@functools.cache
def other_algorithms():
    """The algorithms that prove no accuracy and whose model has coefficients: list of str."""
    proving = proving_algorithms()
    return [
        name
        for name in margins.available()
        if name not in ("auto", "voted-perceptron") and name not in proving
    ]


def _is_expected(warning):
    """Return True for warnings of a fit without a proof, or of a C that is not a paper's C."""
    return issubclass(warning.category, ConvergenceWarning) or "C=" in str(warning.message)


class Attempt:
    """One fit of a problem: a classifier, or why there is none."""

    def __init__(self, problem, name, params):
        algorithm = margins.get(name)
        self.name = f"{name} {params}"
        self.problem = problem
        self.refusal = self.classifier = None
        self.warnings = []
        known = algorithm().get_params()
        params = {key: value for key, value in (problem.params | params).items() if key in known}
        if issubclass(algorithm, OwnLoopClassifier) and problem.kernel != "linear":
            self.refusal = "only linear data"
            self.warnings = []
            return
        if "loss" in algorithm().get_params():
            params["loss"] = problem.loss
        elif problem.loss != algorithm.loss:
            self.problem = Problem(**{**vars(problem), "loss": algorithm.loss})
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.classifier = algorithm(random_state=0, **params).fit(
                    problem.matrix, problem.y, problem.weight
                )
        except RuleError:
            self.refusal = "a rule left the range of a double"
        except ValueError as error:
            self.refusal = str(error)
        self.warnings = [w for w in caught if not _is_expected(w)]

    @property
    def sets_length(self):
        """True if the length of `coef_` does not minimise the objective."""
        return self.classifier.specification(np.ones(1)).model_scale is not None


def exceeds(value, bound, tolerance):
    """True if a float is larger than an exact bound by more than rounding."""
    if math.isinf(value) or bound == math.inf:
        return value == math.inf and bound != math.inf
    return Fraction(value) > bound * (1 + Fraction(tolerance))


def faults_of(attempt, feasible, tolerance=TOLERANCE):
    """Return the false statements about one fit: list of str.

    Parameters
    ----------
    attempt : Attempt
    feasible : list of Fraction or inf
        Objectives that are attained in the same problem.
    tolerance : float
    """
    problem, classifier = attempt.problem, attempt.classifier
    (certificate,) = classifier.certificates_
    model = problem.model_of(classifier)
    lowest, highest = problem.range_of_objective(model)
    least, attained = lowest, highest  # objectives of the best multiple
    if attempt.sets_length:
        least, attained = problem.range_of_objective(model, problem.least_objective)
        if problem.is_hard:
            lowest, highest = problem.range_of_objective(model, problem.hard_objective)
    faults = []
    if math.isnan(certificate.primal + certificate.dual + certificate.gap):
        return ["NaN"]
    # An infinite primal value states nothing.
    if certificate.primal != math.inf and (
        lowest == math.inf or Fraction(certificate.primal) * (1 + Fraction(tolerance)) < lowest
    ):
        faults.append(f"primal {certificate.primal!r} is below the objective {float(lowest):.6g}")
    if exceeds(certificate.primal, highest, tolerance) and certificate.primal != math.inf:
        faults.append(f"primal {certificate.primal!r} is above the objective {float(lowest):.6g}")
    best = min([attained, *feasible])
    if exceeds(certificate.dual, best, tolerance):
        faults.append(f"dual {certificate.dual!r} is above the attained {float(best):.6g}")
    # upper_bound >= 1 / sqrt(2 best)
    if (
        best not in (math.inf, 0)
        and certificate.upper_bound != math.inf
        and 2 * best * Fraction(certificate.upper_bound) ** 2 * (1 + 3 * Fraction(tolerance)) < 1
    ):
        faults.append(f"upper_bound {certificate.upper_bound!r} is below 1 / sqrt(2 * {float(best)!r})")
    if least == math.inf and certificate.margin > 0:
        faults.append(f"margin {certificate.margin!r} of a model that does not separate")
    elif (
        least not in (math.inf, 0)
        and certificate.margin > 0
        and 2 * least * Fraction(certificate.margin) ** 2 > 1 + 3 * Fraction(tolerance)
    ):
        faults.append(f"margin {certificate.margin!r} is above 1 / sqrt(2 * {float(least)!r})")
    if problem.kernel == "linear" and hasattr(classifier, "dual_coef_"):
        alpha = classifier.dual_coef_[0]
        if not (alpha >= 0).all():
            faults.append(f"a dual variable is {alpha.min()}")
        if problem.loss == "hinge" and not problem.is_hard:
            limits = problem.penalties
            if any(
                Fraction(float(a)) > c * (1 + Fraction(4e-16))
                for a, c in zip(alpha, limits, strict=True)
            ):
                faults.append("a dual variable is above its bound")
    return faults


def attempts_of(problem, index, seed=0):
    """Three fits of a problem: list of Attempt."""
    rng = np.random.default_rng([seed, index, 1])
    options = {
        "eps": float(rng.choice([0.5, 0.1, 1e-3, 1e-6])),
        "max_iter": int(rng.choice([1, 2, 5, 30, 200])),
        "max_time": MAX_TIME,
    }
    names = proving_algorithms()
    solver = str(rng.choice(SOLVERS))
    name = names[rng.integers(len(names))]
    stop = {"stop": str(rng.choice(["certificate", "clean-pass"]))}
    others = other_algorithms()
    other = others[rng.integers(len(others))]
    if rng.random() < 0.5:
        free = {} if problem.kernel != "linear" else {"solver": str(rng.choice(FREE_SOLVERS))}
        flagship = Attempt(problem.with_free_intercept(), "auto", options | free)
    else:
        flagship = Attempt(problem, "auto", options | {"solver": solver})
    return [
        flagship,
        Attempt(problem, name, options | stop),
        Attempt(problem, other, {name: options[name] for name in ("max_iter", "max_time")}),
    ]


def check(index, seed=0, tolerance=TOLERANCE, use_reference=True):
    """Attack number `index`.

    Returns
    -------
    counts : collections.Counter
        Numbers of fits, proofs and errors raised.
    faults : list of str
    """
    counts, faults = collections.Counter(problems=1), []
    problem = problem_of(index, seed)
    attempts = attempts_of(problem, index, seed)
    point = reference(attempts[0].problem) if use_reference else None
    nothing = (
        [Fraction(0)] * (problem.X.shape[1] if problem.kernel == "linear" else len(problem.y)),
        Fraction(0),
    )
    models = [nothing] + ([point] if point is not None else [])
    models += [a.problem.model_of(a.classifier) for a in attempts if a.classifier is not None]
    counts["references"] += point is not None
    for attempt in attempts:
        counts["fits"] += 1
        if attempt.refusal is not None:
            counts["refused"] += 1
            counts[f"refused: {attempt.refusal[:40]}"] += 1
            continue
        counts["proven"] += attempt.classifier.converged_
        feasible = [
            attempt.problem.range_of_objective(model)[1]
            for model in models
            if attempt.problem.admits(model)
        ]
        found = faults_of(attempt, feasible, tolerance)
        found += [f"{w.category.__name__}: {w.message}" for w in attempt.warnings]
        faults += [f"problem {index}, {attempt.name}: {fault}" for fault in found]
    return counts, faults


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--begin", type=int, default=0, help="the first problem")
    parser.add_argument("--count", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--no-reference", action="store_true", help="without clarabel")
    options = parser.parse_args(arguments)
    counts, n_faults, start = collections.Counter(), 0, time.perf_counter()
    for index in range(options.begin, options.begin + options.count):
        new, faults = check(index, options.seed, options.tolerance, not options.no_reference)
        counts += new
        n_faults += len(faults)
        for fault in faults:
            print(fault, flush=True)
        if (index + 1) % 1000 == 0:
            print(f"problems up to {index}: {n_faults} false bounds", file=sys.stderr, flush=True)
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    print(f"false: {n_faults}, in {time.perf_counter() - start:.0f} s")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
