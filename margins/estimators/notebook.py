"""The summary of a fitted classifier in a notebook, below scikit-learn's diagram."""

import html
import math

import numpy as np

from margins.estimators.messages import short_name
from margins.training.schemes import fitted_scheme

# With more binary problems than this, only the worst are listed.
MOST_ROWS = 10
STYLE = "border-collapse:collapse;margin:0.4em 0"
CELL = 'style="padding:0.1em 0.8em;text-align:right"'


def fitted_block(estimator):
    """Return the solver, effort and certificates of a classifier as HTML (str; empty before a fit)."""
    if not hasattr(estimator, "solver_"):
        return ""
    state = "converged" if estimator.converged_ else "not converged"
    name, solver = map(html.escape, (short_name(estimator), estimator.solver_))
    summary = (
        f"{name}, solver <b>{solver}</b>: {state}, {estimator.n_iter_} epochs, "
        f"{estimator.n_updates_} updates"
    )
    rows = "".join(_row(cells) for cells in _rows(estimator))
    header = _row(("class", "relative gap", "proven fraction", "margin", "upper bound"), "th")
    table = f'<table style="{STYLE}">{header}{rows}</table>' if rows else ""
    note = f"<div>{_margin_note(estimator)}</div>" if rows else ""
    return f'<div class="margins-certificates" style="margin-top:0.5em">{summary}{table}{note}</div>'


def _margin_note(estimator):
    """Return a sentence on the kind of margin that the table shows (str)."""
    if not estimator.fit_intercept:
        return "Hyperplanes pass through the origin."
    if getattr(estimator, "penalize_intercept", True):
        return "Margins count the intercept as one more weight."
    return "The intercept is free: with C=inf, margins are distances from the hyperplane."


def _rows(estimator):
    """Yield the cells of each binary problem; if there are many, only for the largest gaps."""
    certificates = estimator.certificates_
    labels = [_text_of(label) for label in fitted_scheme(estimator).labels(estimator.classes_)]
    gaps = [certificate.gap for certificate in certificates]
    shown = range(len(gaps))
    if len(gaps) > MOST_ROWS:
        shown = np.argsort(gaps, kind="stable")[::-1][:MOST_ROWS].tolist()
    for index in shown:
        certificate = certificates[index]
        yield (
            labels[index],
            "∞" if math.isinf(certificate.gap) else f"{certificate.gap:.3g}",
            f"{certificate.fraction:.6g}",
            f"{certificate.margin:.6g}",
            f"{certificate.upper_bound:.6g}",
        )
    if len(gaps) > MOST_ROWS:
        yield (f"and {len(gaps) - MOST_ROWS} with smaller gaps", "", "", "", "")


def _text_of(label):
    """Return the text of a label, or of both labels of a pair (str)."""
    return " or ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _row(cells, tag="td"):
    """Return a row of a table as HTML (str)."""
    return f"<tr>{''.join(f'<{tag} {CELL}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
