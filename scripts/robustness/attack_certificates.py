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

Every tenth problem has at most 6 samples and a C |x|^2 over twenty orders instead, with free, no and
penalised intercepts. Its optimum is rational, and so are the optima without each of its samples:

    dual          exceeds the optimum by nothing, and `improvement` is at most the true share
    leave-one-out bounds contain the decision value of the sample by the optimal model without it

    python scripts/robustness/attack_certificates.py --begin 0 --count 1000
"""

import collections
import functools
import math
import sys
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from attack_problems import Problem, exact_optimum, problem_of, reference
from sklearn.exceptions import ConvergenceWarning

import margins
from margins.estimators.custom import OwnLoopClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.rules import RuleError
from margins.solvers.auto import SOLVERS as SOLVER_NAMES

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # modules that all folders share

import reporting

# The rounding error that the documentation of `Certificate` allows.
TOLERANCE = Fraction(1e-9)

# Shares of the objective that `improvement` may leave out: the rounding of a free intercept, and with
# other intercepts what counts as nothing (`margins.solvers.improvement`).
ROUNDING, NOTHING = Fraction(4e-16), Fraction(1e-12)

SOLVERS = ("auto", *SOLVER_NAMES)

# The algorithms for linear data with a free intercept.
FREE_SOLVERS = ("auto", "auto", "newton", "conjugate")

# Seconds of a fit: an accuracy of 1e-6 can take the rules of a paper 1e10 updates.
MAX_TIME = 2.0


@functools.cache
def proving_algorithms():
    """Return the names of algorithms that prove an accuracy."""
    return [
        name for name in margins.available() if issubclass(margins.get(name), MaximumMarginClassifier)
    ]


@functools.cache
def other_algorithms():
    """Return the names of algorithms that prove no accuracy and whose model has coefficients."""
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
        """Return True if the length of `coef_` does not minimise the objective."""
        return self.classifier.specification(np.ones(1)).model_scale is not None


def exceeds(value, bound):
    """Return True if a float is larger than an exact bound by more than rounding."""
    if math.isinf(value) or bound == math.inf:
        return value == math.inf and bound != math.inf
    return Fraction(value) > bound * (1 + TOLERANCE)


def faults_of(attempt, feasible):
    """Return the false statements about one fit, given exact objectives that other models attain."""
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
        lowest == math.inf or Fraction(certificate.primal) * (1 + TOLERANCE) < lowest
    ):
        faults.append(f"primal {certificate.primal!r} is below the objective {float(lowest):.6g}")
    if exceeds(certificate.primal, highest) and certificate.primal != math.inf:
        faults.append(f"primal {certificate.primal!r} is above the objective {float(lowest):.6g}")
    best = min([attained, *feasible])
    if exceeds(certificate.dual, best):
        faults.append(f"dual {certificate.dual!r} is above the attained {float(best):.6g}")
    # upper_bound >= 1 / sqrt(2 best)
    if (
        best not in (math.inf, 0)
        and certificate.upper_bound != math.inf
        and 2 * best * Fraction(certificate.upper_bound) ** 2 * (1 + 3 * TOLERANCE) < 1
    ):
        faults.append(f"upper_bound {certificate.upper_bound!r} is below 1 / sqrt(2 * {float(best)!r})")
    if least == math.inf and certificate.margin > 0:
        faults.append(f"margin {certificate.margin!r} of a model that does not separate")
    elif (
        least not in (math.inf, 0)
        and certificate.margin > 0
        and 2 * least * Fraction(certificate.margin) ** 2 > 1 + 3 * TOLERANCE
    ):
        faults.append(f"margin {certificate.margin!r} is above 1 / sqrt(2 * {float(least)!r})")
    if problem.kernel == "linear" and hasattr(classifier, "dual_coef_"):
        alpha = classifier.dual_coef_[0]
        if not (alpha >= 0).all():
            faults.append(f"a dual variable is {alpha.min()}")
        if problem.loss == "hinge" and not problem.is_hard:
            pairs = zip(alpha, problem.penalties, strict=True)
            if any(Fraction(float(a)) > c * (1 + Fraction(4e-16)) for a, c in pairs):
                faults.append("a dual variable is above its bound")
    return faults


def attempts_of(problem, index, seed=0):
    """Fit a problem in three ways: list of Attempt."""
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


def check(index, seed=0, use_reference=True):
    """Attack a problem: counts of fits, proofs and errors raised, and faults (list of str)."""
    if index % 10 == 9:
        return check_exactly(index, seed)
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
        false = faults_of(attempt, feasible)
        false += [f"{w.category.__name__}: {w.message}" for w in attempt.warnings]
        faults += [f"problem {index}, {attempt.name}: {fault}" for fault in false]
    return counts, faults


def problem_in_units(index, seed=0):
    """Return a Problem of at most 6 samples, with C |x|^2 over twenty orders."""
    rng = np.random.default_rng([seed, index, 3])
    m, d = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    X = rng.integers(-3, 4, (m, d)).astype(float)
    if rng.random() < 0.3:  # duplicates, or one point alone
        X[: rng.integers(2, m + 1)] = X[0]
    X += rng.choice([0.0, 0.0, 1.0, 1e3, 1e6])
    y = np.where(rng.random(m) < 0.5, 1, -1)
    y[0], y[-1] = 1, -1
    longest = max(float(np.max(np.sum(X * X, axis=1))), 1.0)
    unit, C = 10.0 ** rng.uniform(-8, 8), 10.0 ** rng.uniform(-10, 10)
    weight = 10.0 ** rng.uniform(-2, 2, m) if rng.random() < 0.3 else None
    loss = "hinge" if rng.random() < 0.4 else "squared_hinge"
    rho = float(rng.choice([0.0, 0.0, 1.0, 1.0, 10.0])) * unit * math.sqrt(longest)
    problem = Problem(X * unit, y, weight, C / longest / unit**2, rho, loss, "linear")
    return problem.with_free_intercept() if rho == 0 and rng.random() < 0.6 else problem


def check_exactly(index, seed=0):
    """Attack a small problem whose optima are rational, and return what `check` returns."""
    problem, rng = problem_in_units(index, seed), np.random.default_rng([seed, index, 4])
    options = {"eps": float(rng.choice([1e-1, 1e-3, 1e-6])), "max_time": MAX_TIME}
    solvers = FREE_SOLVERS if problem.has_free_intercept else SOLVERS
    attempt = Attempt(problem, "auto", options | {"solver": str(rng.choice(solvers))})
    counts, faults = collections.Counter(exact=1), [str(w.message) for w in attempt.warnings]
    if attempt.refusal is None:
        optimum = problem.objective(exact_optimum(problem))
        faults += faults_of(attempt, [optimum])
        nothing = replace(problem, X=0 * problem.X, _values=[], _gram=None)
        constant = nothing.objective(exact_optimum(nothing))
        attained = problem.objective(problem.model_of(attempt.classifier))
        improvement, possible = attempt.classifier.certificates_[0].improvement, constant - optimum
        left_out = ROUNDING if problem.has_free_intercept else NOTHING
        won = constant - attained + TOLERANCE * possible + left_out * constant
        if possible > 0 and Fraction(improvement) * possible > max(won, 0):
            faults.append(f"improvement {improvement!r} of {float(possible)!r} above {float(won)!r}")
    else:
        counts[f"refused: {attempt.refusal[:40]}"] += 1
    faults += _faults_of_left_out(problem, counts)
    return counts, [f"problem {index}, {attempt.name}: {fault}" for fault in faults]


def _at_most(value, bound):
    return value == -math.inf or (value < math.inf and Fraction(value) <= bound)


def _faults_of_left_out(problem, counts):
    """Return false bounds of `leave_one_out`, and count scores that differ from exact ones."""
    classifier = margins.MarginClassifier(loss=problem.loss, **problem.params)
    start, faults = time.perf_counter(), []
    result = margins.leave_one_out(classifier, problem.X, problem.y, problem.weight, exact=True)
    counts["slow leave-one-out"] += time.perf_counter() - start > 1
    for i in range(len(problem.y)):
        stays = np.arange(len(problem.y)) != i
        y, weight = problem.y[stays], None if problem.weight is None else problem.weight[stays]
        if len(set(y)) < 2:
            continue
        weights, bias = exact_optimum(
            replace(problem, X=problem.X[stays], y=y, weight=weight, _gram=None)
        )
        score = sum(Fraction(v) * w for v, w in zip(problem.X[i].tolist(), weights, strict=True)) + bias
        lower, upper = result.bounds[:, i]
        rounding, size = TOLERANCE * (1 + abs(score)), 1e-3 * (1 + abs(float(score)))
        if not _at_most(lower, score + rounding) or not _at_most(-upper, rounding - score):
            faults.append(f"score {float(score)!r} without sample {i} is not in [{lower!r}, {upper!r}]")
        counts["scores"] += 1
        counts["wide bounds"] += not upper - lower < size
        counts["other scores"] += not abs(result.scores[i] - float(score)) < size
    return faults


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = reporting.numbered_problems(__doc__, 1000)
    parser.add_argument("--no-reference", action="store_true", help="without clarabel")
    options = parser.parse_args(arguments)
    counts, n_faults, start = collections.Counter(), 0, time.perf_counter()
    for index in range(options.begin, options.begin + options.count):
        new, faults = check(index, options.seed, not options.no_reference)
        counts += new
        n_faults += len(faults)
        for fault in faults:
            print(fault, flush=True)
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    print(f"false: {n_faults}, in {time.perf_counter() - start:.0f} s")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
