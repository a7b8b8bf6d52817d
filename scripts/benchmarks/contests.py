"""Contests: the seconds in which all solvers reach the required accuracy of a problem.

The objective must be at most (1 + gap) times the smallest known one, which is that of a fit ten times as
accurate. Objectives are evaluated here, from the weights, independently of the solvers; dual variables
prove that the smallest known one is within the gap of the optimum. Without that proof no solver counts
as successful.

Solvers of other packages get the largest tol of a grid that reaches the accuracy; those of this library
get the accuracy itself, and prove it.
"""

import math
import warnings
from types import SimpleNamespace

import measuring
import numpy as np
import peers
import reporting
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

import margins

REFERENCE = 10  # times as accurate as what is required
# Limits of a fit for the reference and for the search of LinearSVC's tol; others get one limit.
SEARCH = 5
# What takes more than so many seconds, and times those of the better LinearSVC, is timed no further.
PATIENCE, MAX_RATIO = 1.0, 3
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SLACK = 0.001  # difference of accuracies that count as equal


def accuracy_of(loss, gap):
    """Return the `eps` of our algorithms that proves an objective within (1 + gap) of the optimum."""
    return gap if loss == "hinge" else 1 - 1 / math.sqrt(1 + gap)


def contest(problem, gap, ours, arguments, others=()):
    """Time all sides of one problem: dict of gap, optimum (a lower and an upper bound), target and rows.

    `gap` is the relative excess of the objective that is allowed. `ours` maps labels to the name of an
    algorithm and further parameters; `others` are solvers in addition to LinearSVC. Optimum and target
    are None, and no side is successful, if the optimum is not known within the gap.
    """
    eps = accuracy_of(problem.loss, gap)
    optimum = reference(problem, gap, arguments)
    target = None if optimum is None else (1 + gap) * optimum[1]
    makes, tols, rows = {}, {}, []
    for label, (name, parameters) in ours.items():
        makes[label] = ours_maker(name, problem, eps, arguments, parameters)
    searched = {}
    for solver in (*peers.LINEAR_SVC, *others):
        if not solver.solves(problem):
            continue
        if optimum is None:
            rows.append(_row(solver.name, measuring.Timed(message="no optimum is known"), None, None))
            continue
        try:
            fit = search(solver, problem, target, arguments)
        except Exception as error:  # others' errors are their row's, not the end of the contest
            side = measuring.Timed(message=f"no tol found: {type(error).__name__}: {error}")
            rows.append(_row(solver.name, side, None, target))
        else:
            searched[solver.name] = solver, fit
    linear_svc = [
        fit.seconds for name, (_, fit) in searched.items() if kind_of(name) == "LinearSVC" and fit.good
    ]
    patience = max(MAX_RATIO * min(linear_svc, default=math.inf), PATIENCE)
    for name, (solver, fit) in searched.items():
        tols[name] = fit.tol
        if not fit.good or fit.seconds > patience:
            message = fit.warning or ("slow" if fit.good else "not good enough at any tol")
            side = measuring.Timed(fit.classifier, [], [fit.seconds], message)
            rows.append(_row(name, side, problem, target, tols[name]))
        else:
            makes[name] = _peer(solver, problem, fit.tol, arguments)
    sides = measuring.in_alternation(makes, problem.X, problem.y, arguments.repeats, arguments.limit)
    timed = [_row(name, side, problem, target, tols.get(name)) for name, side in sides.items()]
    return {"gap": gap, "optimum": optimum, "target": target, "rows": beside_best(timed + rows)}


def ours_maker(name, problem, eps, arguments, parameters):
    return lambda: peers.ours(name, problem, eps, arguments.seed, arguments.max_iter, **parameters)


def _peer(solver, problem, tol, arguments):
    return lambda: solver.make(problem, tol, arguments.seed, arguments.max_iter)


def reference(problem, gap, arguments):
    """Return bounds of the optimum, [dual, objective], within `gap`; None if not proven in time."""
    eps = accuracy_of(problem.loss, gap) / REFERENCE
    classifier = peers.ours("auto", problem, eps, arguments.seed, arguments.max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            with measuring.deadline(arguments.limit and SEARCH * arguments.limit):
                classifier.fit(problem.X, problem.y)
        except measuring.TooSlow:
            return None
    low, high = problem.dual(classifier.dual_coef_), problem.objective(classifier)
    return [low, high] if high <= (1 + gap) * low else None


def search(solver, problem, target, arguments):
    """Return the Fit of a solver at the largest tol that reaches the target."""
    once = SimpleNamespace(quick=arguments.quick, repeats=1)
    other = solver in peers.OTHERS
    with measuring.deadline(arguments.limit and arguments.limit * (1 if other else SEARCH)):
        if other:  # some compile themselves in their first fit
            _peer(solver, problem, 10.0, arguments)().fit(problem.X, problem.y)
        return reporting.largest_tol(
            lambda tol: solver.make(problem, tol, arguments.seed, arguments.max_iter),
            lambda fit: problem.objective(fit.classifier) <= target,
            problem.X,
            problem.y,
            once,
        )


def _row(name, side, problem, target, tol=None):
    """Return the numbers reported for one side."""
    value = None
    if problem is not None and side.classifier is not None:
        value = problem.objective(side.classifier)
    return {
        **seconds_of(name, side),
        "tol": tol,
        "objective": value,
        "reached": value is not None and target is not None and value <= target,
    }


def seconds_of(name, side):
    """Return the part of a row that every contest has."""
    classifier = side.classifier
    return {
        "solver": name,
        "kind": kind_of(name),
        "seconds": side.seconds,
        "cpu_seconds": side.cpu_seconds,
        "wall": side.wall,
        "cpu": side.cpu,
        "n_updates": getattr(classifier, "n_updates_", None),
        "n_accesses": getattr(classifier, "n_accesses_", None),
        "message": side.message,
    }


def kind_of(name):
    """Return the side of a row: "LinearSVC", "ours" or "other"."""
    if name.startswith("LinearSVC"):
        return "LinearSVC"
    return "ours" if name.split(",")[0] in margins.available() else "other"


def beside_best(rows):
    """Set each row's ratios: to the best LinearSVC that has reached what is required, and to the dual.

    The dual one is coordinate descent, the papers' competitor; the primal one is Newton's method.
    """
    best = [row for row in rows if row["kind"] == "LinearSVC" and row["reached"] and row["seconds"]]
    best = min(best, key=lambda row: row["seconds"], default=None)
    for row in rows:
        for ratio, seconds in (("ratio", "seconds"), ("cpu_ratio", "cpu_seconds")):
            known = best is not None and row["reached"] and row[seconds] is not None
            row[ratio] = row[seconds] / best[seconds] if known else None
    dual = next((row for row in rows if row["solver"] == "LinearSVC"), None)
    for row in rows:
        known = dual is not None and dual["reached"] and dual["seconds"]
        known = known and row["reached"] and row["seconds"]
        row["dual_ratio"] = row["seconds"] / dual["seconds"] if known else None
    return rows


# ------------------------------------------------------------------------------------------ accuracy


def accuracy_contest(X, y, arguments):
    """Time solvers without a common objective, at equal accuracy on a fifth that is held out: dict.

    auto and LinearSVC as they come; SGDClassifier and Perceptron with the fewest epochs whose accuracy
    is within 0.1 % of the accuracy of auto.
    """
    order = np.random.default_rng(arguments.seed).permutation(X.shape[0])
    held_out, kept = order[: X.shape[0] // 5], order[X.shape[0] // 5 :]
    train, test = (X[kept], y[kept]), (X[held_out], y[held_out])
    own = peers.Problem(*train, "squared_hinge", 1.0)
    makes = {
        "auto": ours_maker("auto", own, 0.01, arguments, {}),
        "LinearSVC": lambda: LinearSVC(random_state=arguments.seed),
    }
    wanted = measuring.timed(makes["auto"], *train)[0].score(*test) - SLACK
    epochs = {}
    for kind in (SGDClassifier, Perceptron):
        name = kind.__name__
        epochs[name] = _fewest_epochs(kind, wanted, train, test, arguments)
        makes[name] = _epochs_of(kind, epochs[name], arguments)
    sides = measuring.in_alternation(makes, *train, arguments.repeats, arguments.limit)
    rows = []
    for name, side in sides.items():
        score = None if side.classifier is None else float(side.classifier.score(*test))
        row = {**seconds_of(name, side), "epochs": epochs.get(name), "accuracy": score}
        rows.append({**row, "reached": score is not None and score >= wanted})
    return {"target": wanted, "rows": beside_best(rows)}


def _epochs_of(kind, epochs, arguments):
    return lambda: kind(max_iter=epochs, tol=None, random_state=arguments.seed)


def _fewest_epochs(kind, wanted, train, test, arguments):
    """Return the first of `EPOCHS` that gives the accuracy, or else the most accurate one."""
    scores = {}
    for epochs in EPOCHS[:6] if arguments.quick else EPOCHS:
        scores[epochs] = measuring.timed(_epochs_of(kind, epochs, arguments), *train)[0].score(*test)
        if scores[epochs] >= wanted:
            return epochs
    return max(scores, key=scores.get)
