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
import peers
import reporting
from sklearn.exceptions import ConvergenceWarning

import margins

REFERENCE = 10  # times as accurate as what is required
# Limits of a fit for the reference and for the search of LinearSVC's tol; others get one limit.
SEARCH = 5
# What takes more than so many seconds, and times those of the better LinearSVC, is timed no further.
PATIENCE, MAX_RATIO = 1.0, 3


def accuracy_of(loss, gap):
    """Return the `eps` of our algorithms that proves an objective within (1 + gap) of the optimum."""
    return gap if loss == "hinge" else 1 - 1 / math.sqrt(1 + gap)


def contest(problem, gap, ours, arguments, others=()):
    """Time all sides of one problem: dict of gap, optimum (a lower and an upper bound), target and rows.

    `gap` is the relative excess of the objective that is allowed. `ours` are names of algorithms,
    `others` solvers in addition to LinearSVC. Optimum and target are None, and no side is successful,
    if the optimum is not known within the gap.
    """
    eps = accuracy_of(problem.loss, gap)
    optimum = reference(problem, gap, arguments)
    target = None if optimum is None else (1 + gap) * optimum[1]
    makes = {name: _ours(name, problem, eps, arguments) for name in ours}
    tols, rows, searched = {}, [], {}
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
    return {"gap": gap, "optimum": optimum, "target": target, "rows": with_ratios(timed + rows)}


def _ours(name, problem, eps, arguments):
    return lambda: peers.ours(name, problem, eps, arguments.seed, arguments.max_iter)


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
    low, high = problem.dual(classifier.dual_coef_[0]), problem.objective(classifier)
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
    classifier, value = side.classifier, None
    if problem is not None and classifier is not None:
        value = problem.objective(classifier)
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
        "tol": tol,
        "objective": value,
        "reached": value is not None and target is not None and value <= target,
    }


def kind_of(name):
    """Return the side of a row: "LinearSVC", "ours" or "other"."""
    if name.startswith("LinearSVC"):
        return "LinearSVC"
    return "ours" if name in margins.available() else "other"


def with_ratios(rows):
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
