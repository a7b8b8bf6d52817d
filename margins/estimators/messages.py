"""Messages of fits: errors of rules, the warning of a fit without a proof, and progress lines."""

import contextlib
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from margins.estimators.names import display_name, shown_name
from margins.registry import name_of
from margins.solvers.base import Ending
from margins.solvers.proof import rounding_of_sqnorm
from margins.text import percent

# C |x|^2 is below this if features have values up to 1 and C is at most 1000.
MAX_USUAL_RATIO = 1e6
# C |x|^2 is below this only in units far smaller than the data.
MIN_USUAL_RATIO = 1e-8
# The destination of the progress lines that a fit with ``verbose`` prints.
_write: ContextVar[Callable[[str], object]] = ContextVar("write", default=print)


def short_name(estimator):
    """Return the registered name of an estimator or, for `auto` or without a name, its class (str)."""
    return shown_name(name_of(type(estimator))) or type(estimator).__name__


def name_rule_error(error, estimator, kept):
    """Add the algorithm, and the index of the sample in X, to the error of a rule."""
    error.algorithm = short_name(estimator)
    error.sample = int(kept[error.sample])


class Unproven(NamedTuple):
    """Warning about fits that have not converged, with the largest gap among them."""

    gap: float
    text: str


class _OfThread(threading.local):
    noted: list[Unproven] | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def noted():
    """Context that collects the unconverged fits of this thread (list of Unproven) without warnings."""
    before, _of_thread.noted = _of_thread.noted, []
    try:
        yield _of_thread.noted
    finally:
        _of_thread.noted = before


def warn_of(unproven, stacklevel):
    """Issue a ConvergenceWarning, or collect it within a context of `noted`."""
    if _of_thread.noted is not None:
        _of_thread.noted.append(unproven)
        return
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(unproven.text, ConvergenceWarning, stacklevel=stacklevel + 1)


def worst_of(all_unproven):
    """Return the warning with the largest gap (Unproven, or None if there are none)."""
    return max(filter(None, all_unproven), key=lambda unproven: unproven.gap, default=None)


def all_of(unproven):
    """Join warnings, with all their texts (Unproven)."""
    return Unproven(worst_of(unproven).gap, " ".join(warning.text for warning in unproven))


def not_converged(estimator, fit):
    """Return the warning about a fit if some of its binary problems have not converged (Unproven)."""
    problems = fit.training_set.scheme.names(fit.training_set.classes)
    unproven = [
        run_not_converged(estimator, outcome, problem)
        for problem, outcome in zip(problems, fit.outcomes, strict=True)
        if not outcome.converged
    ]
    worst = worst_of(unproven)
    if len(unproven) == 1:
        return worst
    others = f" Nor did {len(unproven) - 1} of the other {len(problems) - 1} problems."
    return worst._replace(text=worst.text + others)


def run_not_converged(estimator, outcome, problem=""):
    """Return the warning that a run has not converged (Unproven)."""
    certificate, for_problem = outcome.certificate, f" for {problem}" if problem else ""
    text = f"{display_name(estimator)} did not converge{for_problem}: {outcome.message}. "
    if outcome.indefinite is not None:
        text += (
            f"The kernel is not positive semidefinite: {outcome.indefinite}. The objective then has no "
            "lower bound, and nothing can be proven."
        )
        return Unproven(certificate.gap, text)
    text += estimator.describe(outcome)
    required = outcome.specification.required_improvement
    if certificate.improvement < required and outcome.loss.is_finite:
        text += (
            f" {percent(certificate.improvement)} of the possible improvement over a constant "
            f"classifier is proven; {percent(required)} is required."
        )
    if math.isinf(certificate.primal) and not outcome.loss.is_finite:
        text += " This hyperplane does not separate the classes. " + _what_separates(estimator, outcome)
    return Unproven(certificate.gap, text + _what_helps(estimator, outcome))


def _what_helps(estimator, outcome):
    """Return advice on data or parameters that would let a fit prove its accuracy (str)."""
    if not estimator._is_linear:
        if not _is_within_rounding(outcome):
            return ""
        helps = "Standardize the columns of X, or lower C or degree."
        return (
            " Rounding of the kernel values in double precision changes the objective by more than the "
            "required accuracy, so no solver can prove it. "
            f"{helps if estimator.kernel == 'poly' else 'Lower C.'}"
        )
    ratio = float(np.max(outcome.loss.C)) * float(outcome.data.ordinary_sqnorms.max())
    if ratio < MIN_USUAL_RATIO:
        return (
            f" C times the largest squared norm of a sample is {ratio:.3g}, so that rounding hides what "
            "a model can win: multiply the features by a common factor, or raise C."
        )
    if not MAX_USUAL_RATIO < ratio < math.inf:
        return ""
    return (
        f" C times the largest squared norm of a sample is {ratio:.3g}: divide the features by a common "
        "factor, or lower C, to need fewer epochs."
    )


def _is_within_rounding(outcome):
    """Return whether rounding of a kernel matrix exceeds the gap that the accuracy requires."""
    if outcome.required_gap is None or outcome.weights.dual is None:
        return False
    change = 0.5 * outcome.dual_scale**2 * rounding_of_sqnorm(outcome.data, outcome.weights)
    return change >= outcome.required_gap * outcome.certificate.dual


def _what_separates(estimator, outcome):
    """Return advice for a hard-margin fit that has not separated the classes (str)."""
    if outcome.ending is Ending.INFEASIBLE:
        return "Use a finite C, which allows for that."
    text = "If none does, the upper bound falls towards 0: use a finite C, which allows for that."
    if estimator.fit_intercept and getattr(estimator, "penalize_intercept", True):
        is_optional = hasattr(estimator, "penalize_intercept")
        text += " A penalised intercept costs much if features are far from 0: centre them"
        text += ", or set penalize_intercept=False." if is_optional else "."
    if short_name(estimator) != "MarginClassifier":
        text += " MarginClassifier(C=inf) separates the classes, or proves that no hyperplane does."
    return text


@contextlib.contextmanager
def progress_to(write: Callable[[str], object]) -> Iterator[None]:
    """Pass the progress lines of fits that start in this context to a function instead of printing."""
    token = _write.set(write)
    try:
        yield
    finally:
        _write.reset(token)


def reporter_of(estimator: object) -> Callable[[str], object]:
    """Return a function that writes a progress line, preceded by the name of the estimator."""
    name, write = short_name(estimator), _write.get()
    return lambda line: write(f"{name}: {line}")
