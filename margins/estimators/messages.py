"""Names of estimators in messages, errors of rules, and the warning of a fit without a proof."""

import contextlib
import math
import threading
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from margins.estimators.names import display_name
from margins.registry import name_of
from margins.solvers.base import Ending
from margins.solvers.certification import rounding_of_sqnorm

# Of C |x|^2: where features have values up to 1, and C is at most 1000, it is below this.
MAX_USUAL_RATIO = 1e6


def short_name(estimator):
    """The registered name of an estimator, or, without one, its class: str."""
    return name_of(type(estimator)) or type(estimator).__name__


def name_rule_error(error, estimator, kept):
    """Add to the error of a rule the algorithm, and the index in X of the sample.

    Parameters
    ----------
    error : margins.rules.RuleError
    estimator : estimator instance
    kept : ndarray of int
        Indices in X of the samples trained on.
    """
    error.algorithm = short_name(estimator)
    error.sample = int(kept[error.sample])


class Unproven(NamedTuple):
    """What is to be said of fits that have not converged: about the one with the largest gap."""

    gap: float
    text: str


class _OfThread(threading.local):
    noted: list[Unproven] | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def noted():
    """A context that notes fits of this thread that have not converged, in place of warnings.

    Yields a list of Unproven.
    """
    before, _of_thread.noted = _of_thread.noted, []
    try:
        yield _of_thread.noted
    finally:
        _of_thread.noted = before


def warn_of(unproven, stacklevel):
    """Give a ConvergenceWarning, or note it in a context of `noted`."""
    if _of_thread.noted is not None:
        _of_thread.noted.append(unproven)
        return
    warnings.warn(unproven.text, ConvergenceWarning, stacklevel=stacklevel + 1)


def worst_of(all_unproven):
    """Of several the one with the largest gap: Unproven, or None of none."""
    return max((each for each in all_unproven if each), key=lambda each: each.gap, default=None)


def all_of(unproven):
    """Several in one, with all their texts: Unproven.

    Parameters
    ----------
    unproven : list of Unproven
    """
    return Unproven(worst_of(unproven).gap, " ".join(each.text for each in unproven))


def not_converged(estimator, fit):
    """The warning of a fit of which not every binary problem has converged: Unproven.

    Parameters
    ----------
    estimator : estimator instance
    fit : margins.training.fit.Fit
    """
    problems = fit.training_set.scheme.names(fit.training_set.classes)
    unproven = [
        run_not_converged(estimator, run, problem)
        for problem, run in zip(problems, fit.runs, strict=True)
        if not run.converged
    ]
    worst = worst_of(unproven)
    if len(unproven) == 1:
        return worst
    others = f" Nor did {len(unproven) - 1} of the other {len(problems) - 1} problems."
    return worst._replace(text=worst.text + others)


def run_not_converged(estimator, run, problem=""):
    """The warning that a run has not converged: Unproven.

    Parameters
    ----------
    estimator : estimator instance
    run : margins.solvers.driver.Run
    problem : str
        What the binary problem is called, if there are several.
    """
    certificate, which = run.certificate, f" for {problem}" if problem else ""
    text = f"{display_name(estimator)} did not converge{which}: {run.message}. "
    if run.indefinite is not None:
        text += (
            f"The kernel is not positive semidefinite: {run.indefinite}. Then the objective has no "
            "lower bound, and nothing can be proven."
        )
        return Unproven(certificate.gap, text)
    text += estimator.describe(run)
    if math.isinf(certificate.primal) and not run.loss.is_finite:
        text += " This hyperplane does not separate the classes. " + _what_separates(estimator, run)
    return Unproven(certificate.gap, text + _what_helps(estimator, run))


def _what_helps(estimator, run):
    """What changes of the data or the parameters would let a fit prove its accuracy: str."""
    if not estimator._is_linear:
        return _what_helps_kernels(estimator) if _is_within_rounding(run) else ""
    ratio = float(np.max(run.loss.C)) * float(run.data.ordinary_sqnorms.max())
    if not MAX_USUAL_RATIO < ratio < math.inf:
        return ""
    return (
        f" C times the largest squared norm of a sample is {ratio:.3g}: fewer epochs suffice if the "
        "features are divided by a common factor, or with a smaller C."
    )


def _what_helps_kernels(estimator):
    """The same where kernel values are rounded by too much: str."""
    text = (
        " Rounding of the kernel values in double precision changes the objective by more than the "
        "accuracy to be proven, so that no solver proves it. "
    )
    if estimator.kernel == "poly":
        return text + "Standardize the columns of X, or lower C or degree."
    return text + "Lower C."


def _is_within_rounding(run):
    """True if rounding of a kernel matrix exceeds the gap that the accuracy requires."""
    if run.eps is None or run.weights.dual is None:
        return False
    change = 0.5 * run.dual_scale**2 * rounding_of_sqnorm(run.data, run.weights)
    return change >= run.required_gap * run.certificate.dual


def _what_separates(estimator, run):
    """What to do about classes with a hard margin that a fit has not separated: str."""
    if run.ending is Ending.INFEASIBLE:
        return "A finite C allows for that."
    text = "If none does, the upper bound falls towards 0; a finite C allows for that."
    if estimator.fit_intercept and getattr(estimator, "penalize_intercept", True):
        is_optional = hasattr(estimator, "penalize_intercept")
        text += " A penalised intercept is long where features are far from 0: centre them"
        text += ", or give penalize_intercept=False." if is_optional else "."
    if short_name(estimator) != "auto":
        text += " MarginClassifier(C=inf) separates the classes, or proves that no hyperplane does."
    return text
