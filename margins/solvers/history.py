"""The records of a run, and the messages made from them."""

from typing import NamedTuple

from margins.certificate import Certificate


class Epoch(NamedTuple):
    """One full epoch of a run."""

    epoch: int  # Number of the epoch, from 1
    updates: int  # Updates since the start of the run, counting multiplicities
    # Misclassified samples of the full pass, by the rules' condition, including samples whose dual
    # variable was at its upper bound. If a solver changes many dual variables at once, the number that
    # it changed.
    mistakes: int
    # Certificate at the end of the epoch. It is not computed (None) if the estimated gap is above the
    # tolerance or, if the fit must end with an epoch that changes nothing, before such an epoch.
    certificate: Certificate | None
    solver: str = "rules"  # Name of the solver


def progress(epoch, moves_together):
    """Return the progress line of a full epoch."""
    samples = "moved together" if moves_together else "misclassified"
    line = f"epoch {epoch.epoch} ({epoch.solver}): {epoch.mistakes} samples {samples}"
    line += f", {epoch.updates} updates"
    certificate = epoch.certificate
    if certificate is not None:
        line += f", proven fraction {certificate.fraction:.6g}, gap {certificate.gap:.3g}"
    return line


def standstill(n_unmoved, rules):
    """Return why an epoch that changed nothing does not mean convergence."""
    samples, are = ("samples", "are") if n_unmoved > 1 else ("sample", "is")
    return (
        f"{n_unmoved} {samples} below the upper bound of the dual variable {are} misclassified by "
        f"{rules.condition!r}, and {rules.update!r} does not move the weight vector"
    )
