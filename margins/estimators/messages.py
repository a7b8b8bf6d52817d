"""Names of estimators in messages, errors of rules, and the warning of a fit without a proof."""

import math

import numpy as np

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


def not_converged(estimator, fit):
    """The warnings of the runs of a fit that have not converged: yields str.

    Parameters
    ----------
    estimator : estimator instance
    fit : margins.training.fit.Fit
    """
    problems = fit.training_set.scheme.names(fit.training_set.classes)
    for problem, run in zip(problems, fit.runs, strict=True):
        if not run.converged:
            yield run_not_converged(estimator, run, problem)


def run_not_converged(estimator, run, problem=""):
    """The warning that a run has not converged: str.

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
        return (
            f"{text}The kernel is not positive semidefinite: {run.indefinite}. Then the objective has "
            "no lower bound, and nothing can be proven."
        )
    text += estimator.describe(run)
    if math.isinf(certificate.primal) and not run.loss.is_finite:
        text += " This hyperplane does not separate the classes. " + _what_separates(estimator, run)
    return text + _what_helps(estimator, run)


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
